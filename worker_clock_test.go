package wherry

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A handler that is not known to be quick begins with a reading of the clock that is its own: lanes that compute may have kept the
// clock's timer from its processor. Where all are quick each Receive brings a fresh one.
func TestHandlersBeginWithATimeThatIsNotOld(t *testing.T) {
	t.Parallel()
	r := &running{}
	w := &worker{r: r}
	old := time.Now().Add(-time.Second)
	r.clock.cached.Store(old.UnixNano()) // as if its timer had not run
	if got := time.Since(w.nowLocked().Time()); got > time.Second/2 {
		t.Errorf("a handler that is not quick begins %v ago", got)
	}
	for !w.pace.Proven() {
		w.pace.Begin(1)
		w.pace.End()
	}
	if got := w.nowLocked(); got != driver.StampOf(old) {
		t.Errorf("a quick handler begins at %v, want the reading from before", got.Time())
	}
	r.clock.set(w.pace.Begin(1))
	if got := time.Since(w.nowLocked().Time()); got > time.Second/2 {
		t.Errorf("after a Receive a quick handler begins %v ago", got)
	}
}

// A reading that was forgotten while a Receive brought a new one stays forgotten: nobody would forget that one.
func TestClockForgetsBesideASet(t *testing.T) {
	t.Parallel()
	for range 20_000 {
		var c clock
		c.cached.Store(1)
		var forgotten sync.WaitGroup
		var ready, begin atomic.Bool
		forgotten.Go(func() {
			ready.Store(true)
			for spins := 0; !begin.Load(); {
				spins++
			}
			c.forget()
		})
		for !ready.Load() {
			runtime.Gosched()
		}
		now := time.Now()
		begin.Store(true)
		c.set(now)
		forgotten.Wait()
		if v := c.cached.Load(); v != 0 {
			t.Fatalf("the clock stands at %d", v)
		}
	}
}
