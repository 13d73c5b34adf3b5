package wherry

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// lastMovesPoll is how often a worker that leaves looks whether its copies are all made.
const lastMovesPoll = 20 * time.Millisecond

// retire stops one worker in order while the others go on: it receives nothing more, what no handler has touched goes
// back, handlers in hand return in their own time, and what they decided is settled. Of one that was lost nothing can be
// settled any more. If the run stops meanwhile, that stops it together with the others.
func (r *running) retire(w *worker, lost bool) {
	why := "its worker is removed"
	if lost {
		why = "its receiver ended"
	}
	w.quit()
	w.end(why)
	select {
	case <-w.lanesDone:
	case <-r.crew.ending:
		return
	}
	if lost && w.seq != nil {
		r.crew.owe(-1)
	}
	if !lost && !r.moveLast(w) {
		return
	}
	last := time.AfterFunc(max(r.c.spec.drain, settleTimeout), w.endSettling)
	defer last.Stop()
	w.finish()
	r.closeWorker(w)
	r.fleet.quarantine.leave(w)
	w.mu.Lock()
	handled, back := w.handled, w.backLocked()
	w.mu.Unlock()
	if back != nil {
		r.emit(back)
	}
	r.crew.remove(w, handled)
}

// lose ends the contexts of the worker's handlers, and drops its copies that were not sent: its receiver ended, so that what it has
// goes to others.
func (w *worker) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.recallAllLocked()
	w.tenures.all = true
	for _, l := range w.lanes {
		if l.busyLocked() {
			for _, d := range l.heldLocked() {
				l.lose(d)
			}
		}
	}
	w.dropMovesLocked()
}

// moveLast waits for the copies that a leaving worker still has to make, up to the drain time. Originals of those that are
// refused even then go back. It is false when the run stops meanwhile.
func (r *running) moveLast(w *worker) bool {
	patience := time.NewTimer(r.c.spec.drain)
	defer patience.Stop()
	tick := time.NewTicker(lastMovesPoll)
	defer tick.Stop()
	for w.moving() {
		select {
		case <-tick.C:
		case <-patience.C:
			return true
		case <-r.crew.ending:
			return false
		}
	}
	return true
}

// moving reports whether the worker has copies that are not made.
func (w *worker) moving() bool {
	for _, m := range w.moversNow() {
		if kept, _ := m.blocked(); kept > 0 {
			return true
		}
	}
	return false
}

// closeWorker closes a worker's receiver, and tells of what a sequence had kept until then: its tenure ends as a whole.
func (r *running) closeWorker(w *worker) {
	n, why := 0, ""
	if w.seq != nil {
		w.mu.Lock()
		w.recallAllLocked()
		if why = w.seq.leaves; why != "" {
			n = w.seq.untouchedLocked()
		}
		w.mu.Unlock()
	}
	if r.closeReceiver(w.recv) && n > 0 {
		r.emit(&Released{Origin: r.origin, Count: n, Why: why})
	}
}

// closeReceiver closes a receiver. What is unsettled goes back to the broker. It is false where it is not known whether it did.
func (r *running) closeReceiver(recv driver.Receiver) bool {
	ctx, stop := context.WithTimeout(context.Background(), settleTimeout)
	defer stop()
	return r.wasClosed(recv.Close(ctx))
}

// wasClosed tells of what could not be closed in order, and reports whether it could.
func (r *running) wasClosed(err error) bool {
	if err == nil || errors.Is(err, ErrClosed) {
		return true
	}
	r.emit(&CloseFailed{Origin: r.origin, Err: err})
	return false
}
