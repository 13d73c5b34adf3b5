package wherry_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
)

const (
	// shareTime is too long for one lane to do everything, and short enough to take several at once.
	shareTime = 5 * time.Microsecond
	shareLot  = 120 // messages that one Receive brings
)

// lot has one Receive bring so many messages, and returns when all but the blocked one were handled. The handler takes
// shareTime for each, and calls block for the one of that id.
func (r *quickRig) lot(n, blocked int, block func()) (took map[int]time.Duration) {
	r.t.Helper()
	var mu sync.Mutex
	took = map[int]time.Duration{}
	resume := r.c.Pause("to collect")
	synctest.Wait()
	var begun time.Time
	r.set(func(m *wherry.Message[order]) {
		time.Sleep(shareTime)
		if m.Value.ID == blocked {
			block()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if _, again := took[m.Value.ID]; again {
			r.t.Errorf("message %d was handled twice", m.Value.ID)
		}
		took[m.Value.ID] = time.Since(begun)
	})
	for id := range n {
		r.send(id)
	}
	begun = time.Now()
	resume()
	time.Sleep(20 * time.Millisecond) // of a clock that stands still while anything moves
	synctest.Wait()
	mu.Lock()
	defer mu.Unlock()
	if want := n - 1; len(took) != want && blocked >= 0 || len(took) != n && blocked < 0 {
		r.t.Fatalf("%d messages were handled of %d", len(took), n)
	}
	return took
}

// startSharing starts lanes that have proven to take several at once.
func startSharing(t *testing.T, lanes int) *quickRig {
	t.Helper()
	r := newQuick(t, wherry.Concurrency(lanes))
	for range 30 {
		r.lot(shareLot, -1, nil)
	}
	return r
}

// A lane that finds nothing else takes back what another took with it and has not begun: what waits there behind a slow message
// waits no longer than elsewhere.
func TestLanesShareWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startSharing(t, 2)
		var longest time.Duration
		for range 30 {
			release := make(chan struct{})
			// One lane is stuck at the start, so the other does all the rest, one after another.
			go func() {
				time.Sleep(10 * time.Millisecond)
				close(release)
			}()
			for _, at := range r.lot(shareLot, shareLot/2, func() { <-release }) {
				longest = max(longest, at)
			}
			synctest.Wait()
		}
		if most := shareLot * shareTime; longest > most {
			t.Errorf("a message was handled after %v, want at most %v", longest, most)
		}
	})
}
