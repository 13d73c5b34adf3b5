package wherry

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// leases keeps the deliveries of a worker for as long as the engine has them, waiting ones too, on brokers that would
// give them to another. It is off where deliveries have no lease.
type leases struct {
	w     *worker
	every time.Duration // 0: off
	// turn is held around each Extend and Settle: a driver may use a settled delivery again, and must not find it in an
	// Extend. It is a channel, since a call can last.
	turn  chan struct{}
	owned []*driver.Delivery // the worker's lock guards it; a delivery's Slot is its place
}

func (l *leases) init(w *worker) {
	l.w = w
	if w.info.Lease > 0 && w.extender != nil {
		l.every = max(w.info.Lease/3, time.Millisecond)
		l.turn = make(chan struct{}, 1)
	}
}

func (l *leases) lock() {
	if l.every > 0 {
		l.turn <- struct{}{}
	}
}

func (l *leases) unlock() {
	if l.every > 0 {
		<-l.turn
	}
}

func (l *leases) addLocked(ds []*driver.Delivery) {
	if l.every == 0 {
		return
	}
	for _, d := range ds {
		d.Slot = len(l.owned)
		l.owned = append(l.owned, d)
	}
}

// add takes up the extension of deliveries again whose settlement was refused.
func (l *leases) add(batch []driver.Settlement) {
	if l.every == 0 {
		return
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for _, s := range batch {
		l.addLocked([]*driver.Delivery{s.Delivery})
	}
}

// remove ends the extension of deliveries that are about to be settled.
func (l *leases) remove(batch []driver.Settlement) {
	if l.every == 0 {
		return
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	for _, s := range batch {
		l.removeLocked(s.Delivery)
	}
}

func (l *leases) removeLocked(d *driver.Delivery) {
	if l.every == 0 || d.Slot >= len(l.owned) || l.owned[d.Slot] != d {
		return
	}
	last := len(l.owned) - 1
	l.owned[d.Slot] = l.owned[last]
	l.owned[d.Slot].Slot = d.Slot
	l.owned[last] = nil
	l.owned = l.owned[:last]
}

// run extends until everything is settled, a third of the lease apart.
func (l *leases) run() {
	t := time.NewTicker(l.every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			l.extend()
		case <-l.w.settleBase.Done():
			return
		}
	}
}

func (l *leases) extend() {
	l.lock()
	l.w.mu.Lock()
	ds := append([]*driver.Delivery(nil), l.owned...)
	l.w.mu.Unlock()
	var err error
	if len(ds) > 0 {
		ctx, stop := context.WithTimeout(l.w.settleBase, settleTimeout)
		err = l.w.extender.Extend(ctx, ds)
		stop()
	}
	if err == nil {
		l.unlock()
		return
	}
	failed, lost := 0, 0
	for i, d := range ds {
		e := driver.EntryError(err, i)
		if e != nil {
			failed++
		}
		if errors.Is(e, ErrRevoked) {
			l.w.loseOne(d)
			lost++
		}
	}
	l.unlock() // not before: a delivery that is settled may be used again, and is then another
	l.w.r.emit(&ExtendFailed{Origin: l.w.r.origin, Count: failed, Lost: lost, Err: err})
}

// loseOne forgets a delivery whose lease is gone: untouched, it is dropped; in hand, its handler's context ends, and its
// outcome will be refused.
func (w *worker) loseOne(d *driver.Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leases.removeLocked(d)
	w.unsuspectLocked(d)
	for i := w.head; i < len(w.buf); i++ {
		if w.buf[i] == d {
			w.buf = append(w.buf[:i], w.buf[i+1:]...)
			w.forgetLocked(1)
			return
		}
	}
	if w.seq != nil {
		w.seq.loseOneLocked(d)
	}
	for _, m := range w.movers {
		if m != nil {
			m.dropLocked(func(other *driver.Delivery) bool { return other == d })
		}
	}
	for _, l := range w.lanes {
		i := slices.Index(l.heldLocked(), d)
		switch {
		case i < 0:
		case l.bulk != nil && !l.busyLocked(): // a batch that is being collected
			l.bulk.held = slices.Delete(l.bulk.held, i, i+1)
			w.forgetLocked(1)
		default:
			l.lose(d)
		}
	}
}
