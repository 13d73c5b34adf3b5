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
	open int // not yet done
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

func (t *tenures) any() bool    { return len(t.list) > 0 }
func (t *tenures) ending() bool { return t.open > 0 }

func (t *tenures) find(tenure uint64) *ending {
	for _, e := range t.list {
		if e.tenure == tenure {
			return e
		}
	}
	return nil
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
	e := &ending{tenure: r.Tenure, done: r.Done}
	t.list = append(t.list, e)
	t.open++
	if len(t.list) > maxEndedTenures {
		t.forgetOld()
	}
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

func (t *tenures) forgetOld() {
	t.list = slices.DeleteFunc(t.list, func(e *ending) bool {
		old := e.done == nil && e.left == 0 && len(t.list) > maxEndedTenures/2 && e != t.list[len(t.list)-1]
		return old
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
		for _, m := range w.movers {
			if m != nil {
				gone := m.dropLocked(tenure)
				w.forgetLocked(gone)
				n += gone
			}
		}
	}
	return n
}

// dropEndedLocked does the same for a buffer that came after the revocations.
func (w *worker) dropEndedLocked() {
	for _, e := range w.tenures.list {
		w.takeOutLocked(e.tenure, e.cut)
		if !e.over { // else nobody waits for it
			e.left = w.countLocked(e.tenure)
		}
	}
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

// cutLocked ends the contexts of the handlers of a tenure.
func (w *worker) cutLocked(e *ending) {
	e.cut = true
	for _, l := range w.lanes {
		for _, d := range l.heldLocked() {
			if d.Tenure == e.tenure {
				l.lose()
				break
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
