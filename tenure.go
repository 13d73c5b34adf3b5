package wherry

import (
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// maxEndedTenures is how many ended tenures a worker remembers, to drop what was still on its way from them.
const maxEndedTenures = 64

// tenures are the tenures of a worker that are ending or have ended. The worker's lock guards it.
type tenures struct {
	w    *worker
	list []*ending
	open int  // not yet done
	all  bool // the receiver ended, and with it each of them
	// last is the tenure of what came last, and mixed that the worker may have unsettled deliveries of others too.
	last  uint64
	mixed bool
}

type ending struct {
	tenure uint64
	left   int    // unsettled deliveries of it
	cut    bool   // the contexts of its handlers have ended
	over   bool   // nothing of it is left, and the driver was told
	done   func() // nil once called
	timer  *time.Timer
}

// noteLocked notes the tenures of deliveries that came, to a worker that has others or none.
func (t *tenures) noteLocked(got []*driver.Delivery, others bool) {
	t.mixed = t.mixed && others
	for _, d := range got {
		if d.Tenure != t.last {
			t.last, t.mixed = d.Tenure, t.mixed || others || d != got[0]
		}
	}
}

func (t *tenures) any() bool    { return t.all || len(t.list) > 0 }
func (t *tenures) ending() bool { return t.open > 0 }

func (t *tenures) find(tenure uint64) *ending {
	for _, e := range t.list {
		if e.tenure == tenure {
			return e
		}
	}
	return nil
}

// lost reports whether a tenure is over, so that nothing of it can be settled any more.
func (t *tenures) lost(tenure uint64) bool {
	if t.all {
		return true
	}
	e := t.find(tenure)
	return e != nil && e.cut
}

// follow starts what the receiver's abilities need beside the lanes.
func (w *worker) follow(beside *sync.WaitGroup) {
	w.tenures.w = w
	if rv, ok := w.recv.(driver.Revoker); ok {
		ch := rv.Revocations()
		beside.Go(func() {
			for {
				select {
				case r, open := <-ch:
					if !open {
						return
					}
					w.revoke(r)
				case <-w.settleBase.Done(): // after the last move and settlement
					return
				}
			}
		})
	}
	if sh, ok := w.recv.(driver.Sharer); ok {
		ch := sh.Wanted()
		beside.Go(func() {
			for {
				select {
				case _, open := <-ch:
					if !open {
						return
					}
					w.share("another worker is idle")
				case <-w.intake.Done():
					return
				}
			}
		})
	}
	if w.leases.every > 0 {
		beside.Go(w.leases.run)
	}
}

// revoke ends a tenure: what no lane has touched is taken out of everywhere and given back, what is in hand goes on until
// the tenure's end, and when the last of it is settled the driver is told.
func (w *worker) revoke(r driver.Revocation) {
	w.mu.Lock()
	w.recallAllLocked()
	t := &w.tenures
	e := t.beginLocked(r)
	untouched := 0
	if w.seq != nil {
		untouched = w.seq.endTenureLocked(r.Tenure)
	}
	untouched += w.takeOutLocked(r.Tenure, r.Lost)
	inHand := 0
	for _, l := range w.lanes {
		for _, d := range l.heldLocked() {
			if d.Tenure == r.Tenure {
				inHand++
			}
		}
	}
	e.left = w.countLocked(r.Tenure)
	if e.timer != nil && (r.Lost || !r.Until.IsZero()) {
		e.timer.Stop()
	}
	if r.Lost {
		w.cutLocked(e)
	} else if wait := time.Until(r.Until); !r.Until.IsZero() {
		e.timer = time.AfterFunc(max(wait, 0), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.recallAllLocked()
			w.cutLocked(e)
		})
	}
	if w.owingLocked() {
		w.flushLocked()
	}
	if e.left == 0 {
		t.doneLocked(e)
	}
	w.mu.Unlock()
	w.r.emit(&Revoked{Origin: w.r.origin, Untouched: untouched, InHand: inHand})
}

// beginLocked notes that a tenure ends. It may be told twice of one: that it is ending, and then that it is lost before its time.
func (t *tenures) beginLocked(r driver.Revocation) *ending {
	e := t.find(r.Tenure)
	switch {
	case e == nil:
		e = &ending{tenure: r.Tenure, done: r.Done}
		t.list = append(t.list, e)
		t.open++
		if len(t.list) > maxEndedTenures {
			t.forgetOld()
		}
	case e.over:
		e.over, e.done = false, r.Done
		t.open++
	default:
		e.done = both(e.done, r.Done)
	}
	// Whatever of it is moving and was not sent is dropped before the rest is counted.
	e.cut = e.cut || r.Lost
	return e
}

// both is to call two functions, of which either may be nil.
func both(f, g func()) func() {
	if f == nil || g == nil {
		if f == nil {
			return g
		}
		return f
	}
	return func() {
		f()
		g()
	}
}

// forgetOld forgets the older half of what is over.
func (t *tenures) forgetOld() {
	keep := len(t.list) - maxEndedTenures/2
	i := 0
	t.list = slices.DeleteFunc(t.list, func(e *ending) bool {
		i++
		return e.over && i <= keep
	})
}

// takeOutLocked takes what no handler has touched out of the buffer and out of batches that are being collected, and
// what waits to be moved out of its mover when the tenure is lost. It returns how many.
func (w *worker) takeOutLocked(tenure uint64, lost bool) int {
	n := 0
	taken := func(d *driver.Delivery) bool {
		switch {
		case d.Tenure != tenure:
			return false
		case lost:
			w.leases.removeLocked(d)
			w.forgetLocked(1)
		default:
			w.settleLocked(driver.Settlement{Delivery: d})
		}
		w.unsuspectLocked(d)
		n++
		return true
	}
	w.buf = append(w.buf[:w.head], slices.DeleteFunc(w.buf[w.head:], taken)...)
	for _, l := range w.lanes {
		if l.bulk != nil && !l.busyLocked() {
			l.bulk.held = slices.DeleteFunc(l.bulk.held, taken)
		}
	}
	if lost {
		n += w.dropMovesLocked()
	}
	return n
}

// dropMovesLocked forgets what waits to be moved of tenures that were lost.
func (w *worker) dropMovesLocked() int {
	n := 0
	for _, m := range w.movers {
		if m != nil {
			n += m.dropEndedLocked()
		}
	}
	return n
}

// dropEndedLocked takes what came of tenures that had ended before out of the buffer. Deliveries that come together are mostly of
// one.
func (w *worker) dropEndedLocked() {
	var e *ending
	known, of := false, uint64(0)
	w.buf = append(w.buf[:w.head], slices.DeleteFunc(w.buf[w.head:], func(d *driver.Delivery) bool {
		if !known || d.Tenure != of {
			known, e, of = true, w.tenures.find(d.Tenure), d.Tenure
		}
		switch {
		case e == nil:
			return false
		case e.cut:
			w.leases.removeLocked(d)
			w.forgetLocked(1)
		default:
			w.settleLocked(driver.Settlement{Delivery: d})
			if !e.over { // else nobody waits for it
				e.left++
			}
		}
		return true
	})...)
}

// countLocked is how many unsettled deliveries of a tenure the worker has, wherever they are.
func (w *worker) countLocked(tenure uint64) int {
	n := 0
	count := func(d *driver.Delivery) {
		if d.Tenure == tenure {
			n++
		}
	}
	for _, d := range w.buf[w.head:] {
		count(d)
	}
	for _, l := range w.lanes {
		for _, d := range l.heldLocked() {
			count(d)
		}
	}
	for _, s := range w.out.batch {
		count(s.Delivery)
	}
	for _, f := range w.flying {
		for i := range f.batch {
			if f.tenureOf(i) == tenure {
				n++
			}
		}
	}
	for _, m := range w.movers {
		if m != nil {
			n += m.countLocked(tenure)
		}
	}
	return n
}

// cutLocked ends the contexts of the handlers of a tenure, and drops what was to be moved of it and was not sent.
func (w *worker) cutLocked(e *ending) {
	e.cut = true
	w.dropMovesLocked()
	for _, l := range w.lanes {
		for _, d := range l.heldLocked() {
			if d.Tenure == e.tenure {
				l.lose(d)
			}
		}
	}
}

// settledLocked notes that a delivery of a tenure was settled.
func (t *tenures) settledLocked(tenure uint64) {
	e := t.find(tenure)
	if e == nil || e.left == 0 {
		return
	}
	e.left--
	if e.left == 0 {
		t.doneLocked(e)
	}
}

// doneLocked tells the driver, once.
func (t *tenures) doneLocked(e *ending) {
	if e.over {
		return
	}
	e.over = true
	if e.timer != nil {
		e.timer.Stop()
	}
	t.open--
	if done := e.done; done != nil {
		e.done = nil
		done()
	}
}
