package middleware

import (
	"context"
	"time"
)

// A call is a handler call that was let through.
type call struct {
	began time.Time
	round uint64
}

// A waiter is a lane's place in the queue. It is used again for each message.
type waiter struct {
	in     chan struct{} // cap 1: let through
	next   *waiter
	prev   *waiter
	queued bool
}

func newWaiter() *waiter { return &waiter{in: make(chan struct{}, 1)} }

// begin waits until a call may run. It is false when ctx ended first. w is the lane's; the rare middleware that calls next
// in several goroutines gets others.
func (a *AdaptiveLimit) begin(ctx context.Context, w *waiter) (call, bool) {
	a.mu.Lock()
	if a.first == nil && a.inFlight < a.gradient.now() {
		c := a.admitLocked()
		a.mu.Unlock()
		return c, true
	}
	if w.queued {
		w = newWaiter()
	}
	a.pushLocked(w)
	if a.gradient.overdue() {
		a.letInLocked()
	}
	a.mu.Unlock()
	select {
	case <-w.in:
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.gradient.begin(), true
	case <-ctx.Done():
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if w.queued {
		a.removeLocked(w)
		return call{}, false
	}
	<-w.in // it was let through in the same moment
	a.inFlight--
	a.letInLocked()
	return call{}, false
}

// end gives the place back and notes what the call says.
func (a *AdaptiveLimit) end(c call, v verdict) {
	a.mu.Lock()
	from := a.gradient.now()
	a.inFlight--
	a.gradient.end(c, v, time.Now(), a.inFlight)
	to := a.gradient.now()
	a.letInLocked()
	a.mu.Unlock()
	if from != to && a.cfg.OnChange != nil {
		a.cfg.OnChange(from, to)
	}
}

// admitLocked counts a call that begins.
func (a *AdaptiveLimit) admitLocked() call {
	a.inFlight++
	a.gradient.reached(a.inFlight)
	return a.gradient.begin()
}

// letInLocked lets those in that have waited longest, as far as there is room.
func (a *AdaptiveLimit) letInLocked() {
	for a.first != nil && a.inFlight < a.gradient.now() {
		w := a.first
		a.removeLocked(w)
		a.inFlight++
		a.gradient.reached(a.inFlight)
		w.in <- struct{}{}
	}
}

func (a *AdaptiveLimit) pushLocked(w *waiter) {
	w.queued, w.prev, w.next = true, a.last, nil
	if a.last == nil {
		a.first = w
	} else {
		a.last.next = w
	}
	a.last = w
	a.waiting++
}

func (a *AdaptiveLimit) removeLocked(w *waiter) {
	if w.prev == nil {
		a.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		a.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
	a.waiting--
}
