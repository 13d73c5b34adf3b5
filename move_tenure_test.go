package wherry

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// slowSender says when it is called, and answers when it may.
type slowSender struct {
	driver.Sender
	called, answer chan struct{}
}

func (s slowSender) Send(context.Context, []driver.Record) error {
	close(s.called)
	<-s.answer
	return nil
}

// handWorker is a worker that receives nothing, with a lane that has deliveries of a tenure in hand, and a mover of dead letters
// that does not run.
func handWorker(tb testing.TB, sender driver.Sender, inHand ...*driver.Delivery) (*worker, *mover) {
	tb.Helper()
	r := &running{c: &Consumer{}, retries: &outlet{}, dead: &outlet{sender: sender}}
	w := &worker{r: r, out: &flush{}, done: true, hand: tb.Context(), settleBase: tb.Context(), unsettled: len(inHand)}
	m := &mover{w: w, out: r.dead, wake: make(chan struct{}, 1)}
	w.movers[1] = m
	for _, d := range inHand {
		l := &lane{w: w}
		l.hold(d, 1)
		w.lanes = append(w.lanes, l)
	}
	return w, m
}

// A delivery whose copy was just confirmed is found by whoever counts those of its tenure, at any moment.
func TestMovedIsCountedAllTheTime(t *testing.T) {
	t.Parallel()
	const tenure = 7
	s := slowSender{called: make(chan struct{}), answer: make(chan struct{})}
	w, m := handWorker(t, s)
	one := &move{d: &driver.Delivery{Tenure: tenure}, out: m.out}
	m.add(one)
	tried := make(chan struct{})
	go func() {
		defer close(tried)
		m.try(m.take(), time.Second)
	}()
	<-s.called
	w.mu.Lock()
	close(s.answer)
	for range 10_000 { // the mover comes as far as it can without the worker's lock
		runtime.Gosched()
		if n := w.countLocked(tenure); n != 1 {
			t.Errorf("%d of the tenure are counted, want 1", n)
			break
		}
	}
	w.mu.Unlock()
	<-tried
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.Equal(t, w.countLocked(tenure), 1)
	assert.Equal(t, len(w.out.batch), 1)
}

// A tenure that is ending may be lost before its time. Both times who told of it hears when nothing of it is left.
func TestTenureThatEndsTwiceIsDoneTwice(t *testing.T) {
	t.Parallel()
	const tenure = 7
	d := &driver.Delivery{Tenure: tenure}
	w, _ := handWorker(t, nil, d)
	w.done = false
	var done [3]int
	end := func(i int, lost bool) {
		w.revoke(driver.Revocation{
			Tenure: tenure, Until: time.Now().Add(time.Hour), Lost: lost, Done: func() { done[i]++ },
		})
	}
	end(0, false)
	w.mu.Lock()
	timer := w.tenures.find(tenure).timer
	w.mu.Unlock()
	end(1, true)
	assert.True(t, !timer.Stop(), "the end of the grace is not waited for any more")
	w.mu.Lock()
	assert.Equal(t, len(w.tenures.list), 1)
	assert.True(t, w.tenures.ending(), "one is in hand")
	assert.True(t, w.lanes[0].lost, "its handler was told")
	w.lanes[0].release()
	w.tenures.settledLocked(tenure)
	assert.True(t, !w.tenures.ending(), "nothing is in hand")
	w.mu.Unlock()
	assert.Equal(t, done, [3]int{1, 1, 0})
	end(2, true) // and once more, when nothing is left
	assert.Equal(t, done, [3]int{1, 1, 1})
	assert.True(t, !w.tenures.ending(), "nothing is in hand")
}

// What came of a tenure that is ending is waited for when the driver is told that nothing of it is left, and others are left alone.
func TestLateDeliveriesOfAnEndingTenureAreWaitedFor(t *testing.T) {
	t.Parallel()
	inHand := &driver.Delivery{Tenure: 7}
	w, _ := handWorker(t, nil, inHand)
	told := 0
	w.revoke(driver.Revocation{Tenure: 7, Done: func() { told++ }})
	w.revoke(driver.Revocation{Tenure: 8, Lost: true})
	w.mu.Lock()
	defer w.mu.Unlock()
	alive := &driver.Delivery{Tenure: 9}
	w.buf = []*driver.Delivery{{Tenure: 7}, alive, {Tenure: 8}, {Tenure: 7}}
	w.unsettled += len(w.buf)
	w.dropEndedLocked()
	assert.Equal(t, w.buf, []*driver.Delivery{alive})
	assert.Equal(t, w.unsettled, 4)
	assert.Equal(t, len(w.out.batch), 2) // go back
	assert.Equal(t, w.countLocked(7), 3)
	for i := range 3 {
		assert.Equal(t, told, 0)
		w.tenures.settledLocked(7)
		assert.Equal(t, w.tenures.ending(), i < 2)
	}
	assert.Equal(t, told, 1)
}

// A copy that waits for its next try is not made any more once the lease of its original is lost.
func TestLeaseThatIsLostDropsItsCopy(t *testing.T) {
	t.Parallel()
	w, m := handWorker(t, nil)
	w.leases = leases{w: w, every: time.Second}
	d, other := &driver.Delivery{}, &driver.Delivery{}
	w.leases.addLocked([]*driver.Delivery{d, other})
	w.unsettled = 2
	m.add(&move{d: d, out: m.out}, &move{d: other, out: m.out})
	w.loseOne(d)
	assert.Equal(t, len(m.take()), 1)
	assert.Equal(t, w.unsettled, 1)
	assert.Equal(t, w.leases.owned, []*driver.Delivery{other})
}

// At the end of its time a tenure takes with it what waits to be moved, and the driver hears so at once.
func TestTenureThatEndsDropsItsCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &driver.Delivery{Tenure: 7}
		w, m := handWorker(t, nil)
		w.leases = leases{w: w, every: time.Second}
		w.leases.addLocked([]*driver.Delivery{d})
		w.unsettled = 1
		m.add(&move{d: d, out: m.out})
		var told atomic.Int64
		w.revoke(driver.Revocation{Tenure: 7, Until: time.Now().Add(time.Minute), Done: func() { told.Add(1) }})
		assert.Equal(t, told.Load(), 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, told.Load(), 1)
		kept, _ := m.blocked()
		assert.Equal(t, kept, 0)
		w.mu.Lock()
		defer w.mu.Unlock()
		assert.Equal(t, w.unsettled, 0)
		assert.Equal(t, len(w.leases.owned), 0)
	})
}
