package wherry_test

import (
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// Orders of a bunch, in the order in which they are sent.
const (
	firstOfBunch = 1
	slowOfBunch  = 20
	lastOfBunch  = 40
)

// inBunch has one lane take a bunch, in the middle of which it comes to a slow message. Then it calls during, and ends the
// slow message. It returns how often each message was handled, and how many were while the slow one was.
func (r *quickRig) inBunch(during func(r *quickRig)) (handled map[int]int, meanwhile int) {
	r.t.Helper()
	begin, reached, release := make(chan struct{}), make(chan struct{}, 2), make(chan struct{})
	var mu sync.Mutex
	handled = map[int]int{}
	count := func() (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, times := range handled {
			n += times
		}
		return n
	}
	r.set(func(m *wherry.Message[order]) {
		id := m.Value.ID
		switch id {
		case 0:
			<-begin
		case slowOfBunch:
			reached <- struct{}{}
			<-release
		}
		mu.Lock()
		defer mu.Unlock()
		handled[id]++
	})
	r.send(0)
	synctest.Wait()
	for id := firstOfBunch; id <= lastOfBunch; id++ {
		r.send(id)
	}
	close(begin)
	<-reached
	before := count()
	during(r)
	meanwhile = count() - before
	close(release)
	synctest.Wait()
	r.stop()
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(handled), meanwhile
}

// assertEachOnce looks whether every message was handled, and none twice.
func assertEachOnce(t *testing.T, handled map[int]int) {
	t.Helper()
	for id := range lastOfBunch + 1 {
		if handled[id] != 1 {
			t.Errorf("message %d was handled %d times", id, handled[id])
		}
	}
}

// Whatever happens while a lane is in the middle of what it took at once, each message is handled once.
func TestBunch(t *testing.T) {
	t.Parallel()
	const rest = lastOfBunch - slowOfBunch
	for _, c := range []struct {
		name      string
		lanes     int
		during    func(r *quickRig)
		meanwhile int
	}{
		{"slow, and nobody else", 1, func(*quickRig) { time.Sleep(time.Second) }, 0},
		{"slow, and others", 4, func(*quickRig) {
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
		}, rest},
		{"revoked", 1, func(r *quickRig) { r.b.Faults().Revoke(orders.Name(), time.Minute) }, 0},
		{"paused and resumed", 4, func(r *quickRig) {
			resume := r.c.Pause("test")
			time.Sleep(time.Second)
			resume()
			synctest.Wait()
		}, rest},
		{"looked at", 1, func(r *quickRig) {
			if h := r.c.Health(); h.Handled != quickMessages+slowOfBunch {
				r.t.Errorf("health says %d handled, want %d", h.Handled, quickMessages+slowOfBunch)
			}
		}, 0},
		{"stopped", 1, func(r *quickRig) {
			r.end()
			synctest.Wait()
		}, 0},
	} {
		for how, start := range map[string]func(*testing.T, ...wherry.ConsumeOption) *quickRig{
			"queue": startQuick, "sequence": startQuickSequence,
		} {
			t.Run(how+", "+c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					handled, meanwhile := start(t, wherry.Concurrency(c.lanes)).inBunch(c.during)
					assertEachOnce(t, handled)
					if meanwhile != c.meanwhile {
						t.Errorf("%d were handled while one was slow, want %d", meanwhile, c.meanwhile)
					}
				})
			})
		}
	}
}

// startQuickSequence is startQuick for a sequence.
func startQuickSequence(t *testing.T, opts ...wherry.ConsumeOption) *quickRig {
	t.Helper()
	r := newQuickSequence(t, opts...)
	r.prove()
	return r
}

// newQuickSequence is newQuick for a sequence, in which each order has a key of its own.
func newQuickSequence(t *testing.T, opts ...wherry.ConsumeOption) *quickRig {
	t.Helper()
	keyed := wherry.NewKeyedTopic(orders.Name(), codec.JSON[order]{}, func(dst []byte, o *order) []byte {
		return strconv.AppendInt(dst, int64(o.ID), 10)
	})
	b := mem.New(mem.Config{})
	return newQuickOn(t, b, keyed, wherry.Sequence(b, keyed), opts...)
}

// A lane that finds another in the middle of a bunch, where one lane is to do all, leaves it alone with what is in the buffer too.
// Only when that one is slow it comes for it.
func TestBunchIsLeftAlone(t *testing.T) {
	t.Parallel()
	for how, start := range map[string]func(*testing.T, ...wherry.ConsumeOption) *quickRig{
		"queue": newQuick, "sequence": newQuickSequence,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const all, slowest = 200, quickMessages + 10 // which is more than a bunch
				r := start(t, wherry.Concurrency(2))
				free, begin, slow := make(chan struct{}), make(chan struct{}), make(chan struct{})
				var mu sync.Mutex
				handled := 0
				r.set(func(m *wherry.Message[order]) {
					switch m.Value.ID {
					case -2:
						<-free
					case -1:
						<-begin
					case slowest:
						<-slow
					}
					mu.Lock()
					defer mu.Unlock()
					handled++
				})
				count := func() int {
					mu.Lock()
					defer mu.Unlock()
					return handled
				}
				r.send(-2)
				synctest.Wait()
				r.prove() // the other lane
				r.send(-1)
				synctest.Wait()
				proven := count()
				for id := range all {
					r.send(quickMessages + id)
				}
				close(begin)
				synctest.Wait()
				before := count()
				close(free)
				synctest.Wait()
				if got := count() - before; got != 1 {
					t.Errorf("the lane that came free handled %d at once, want its own alone", got)
				}
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
				if got := count() - proven; got != all+1 {
					t.Errorf("%d were handled beside a slow one, want %d", got, all+1)
				}
				close(slow)
				synctest.Wait()
				r.stop()
			})
		})
	}
}

// What a lane has acknowledged of its bunch is settled within the linger, however long the message takes that it came to.
func TestBunchIsSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startQuick(t)
		handled, _ := r.inBunch(func(r *quickRig) {
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
			d, err := r.b.Depth(t.Context(), driver.Source{Topics: []driver.Topic{{Name: orders.Name()}}})
			if want := int64(lastOfBunch - slowOfBunch + 1); err != nil || d.InFlight != want {
				t.Errorf("%d are in flight beside a slow message, want %d (error %v)", d.InFlight, want, err)
			}
		})
		assertEachOnce(t, handled)
	})
}

// What a lane took at once and has not begun goes back when its tenure ends, to whoever is next.
func TestBunchIsRevoked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ev events
		r := startQuick(t, wherry.OnEvent(ev.record))
		handled, _ := r.inBunch(func(r *quickRig) {
			r.b.Faults().Revoke(orders.Name(), time.Minute)
			synctest.Wait()
		})
		assertEachOnce(t, handled)
		revoked := eventsOf[*wherry.Revoked](&ev)
		if len(revoked) != 1 || revoked[0].Untouched != lastOfBunch-slowOfBunch || revoked[0].InHand != 1 {
			t.Errorf("events of revocations are %v, want one with %d untouched and 1 in hand", revoked, lastOfBunch-slowOfBunch)
		}
	})
}

// A lane that is done with a slow message while another has a bunch must not receive: then nobody would be left for what the
// other has to leave.
func TestBunchBesideABusyLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newQuick(t, wherry.Concurrency(2))
		free := make(chan struct{})
		r.set(func(m *wherry.Message[order]) {
			if m.Value.ID == lastOfBunch {
				<-free
			}
		})
		r.send(lastOfBunch)
		synctest.Wait()
		r.set(func(*wherry.Message[order]) {})
		r.prove()
		handled, meanwhile := r.inBunch(func(*quickRig) {
			close(free)
			time.Sleep(2 * time.Millisecond)
			synctest.Wait()
		})
		assertEachOnce(t, handled)
		if want := lastOfBunch - slowOfBunch; meanwhile != want {
			t.Errorf("%d were handled while one was slow, want %d", meanwhile, want)
		}
	})
}

// A panic in the middle of a bunch costs the one message an attempt.
func TestBunchPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := startQuick(t)
		begin := make(chan struct{})
		var calls []string
		r.set(func(m *wherry.Message[order]) {
			if m.Value.ID == 0 {
				<-begin
			}
			calls = append(calls, fmt.Sprint(m.Value.ID, " ", m.Attempt()))
			if m.Value.ID == 2 && m.Attempt() == 1 {
				panic("in a bunch")
			}
		})
		r.send(0)
		synctest.Wait()
		for id := 1; id <= 4; id++ {
			r.send(id)
		}
		close(begin)
		time.Sleep(time.Minute)
		r.stop()
		if got, want := fmt.Sprint(calls), "[0 1 1 1 2 1 3 1 4 1 2 2]"; got != want {
			t.Errorf("handled %s, want %s", got, want)
		}
	})
}
