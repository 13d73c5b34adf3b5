package wherry

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	// mostReceived is the most that one Receive brings. Only memory is bounded by it: a larger credit is used up by several.
	mostReceived = 4096

	// A Receive that has lasted this long without failing says that the broker is there: by the word of a receiver that
	// knows why it brings nothing, and without it.
	answeredAfter = time.Second
	silentAfter   = 10 * time.Second
)

// receiveLocked fills the empty buffer. It gives up the lock while it waits, and holds the worker's one right to receive;
// after a failure it waits before it returns, so that a broken broker is not asked in a loop.
func (w *worker) receiveLocked(ctx context.Context) {
	w.receiving = true
	if w.owingLocked() {
		w.flushLocked()
	}
	room := min(w.credit-w.unsettled, w.window)
	space := w.spaceLocked()
	dst := space[:0:min(max(room, 1), len(space))]
	w.asked = w.r.clock.now()
	w.mu.Unlock()

	got, err := w.recv.Receive(ctx, dst)

	w.lock()
	w.asked = 0
	var wait time.Duration
	if err != nil || w.away {
		wait = w.receivedLocked(ctx, err)
	}
	w.full = len(got) == cap(dst)
	if len(got) > 0 {
		w.acceptLocked(got)
	}
	if wait > 0 && len(got) == 0 {
		w.mu.Unlock()
		_ = sleep(ctx, wait)
		w.mu.Lock()
	}
	w.receiving = false
	if w.intake.Err() != nil {
		w.stopped = true // or a lane would ask again and again until it is told
	}
}

// spaceLocked is where the next Receive appends: of two arrays, the one that is not the buffer.
func (w *worker) spaceLocked() []*driver.Delivery {
	if w.space[w.turn] == nil {
		w.space[w.turn] = make([]*driver.Delivery, min(w.credit, mostReceived))
	}
	return w.space[w.turn]
}

// acceptLocked makes received deliveries the buffer, without those of tenures that ended.
func (w *worker) acceptLocked(got []*driver.Delivery) {
	w.tenures.noteLocked(got, w.unsettled > 0)
	w.unsettled += len(got)
	w.buf, w.head = got, 0
	w.r.clock.set(w.pace.Begin(len(got)))
	w.sampleDue = len(got) >= leastSampled
	w.turn ^= 1
	w.leases.addLocked(got)
	if w.tenures.any() {
		w.dropEndedLocked()
	}
	switch {
	case w.seq != nil:
		w.seq.takeInLocked()
	case w.info.HasCount:
		w.inspectLocked()
	}
}

// receivedLocked notes what a Receive says of the broker, and returns how long to wait before the next. It gives up the
// lock to tell of it.
func (w *worker) receivedLocked(ctx context.Context, err error) time.Duration {
	switch {
	case err == nil:
		w.tellLocked(w.backLocked())
		return 0
	case ctx.Err() != nil:
		return 0 // asked to stop, or a batch that is old enough
	case errors.Is(err, ErrClosed):
		// Every lane ends with the run or with its worker; until it does there is nothing to ask.
		w.mu.Unlock()
		if !w.r.crew.lose(w, err) {
			w.r.closedUnder(err) // that of a [Pull], which nobody tends
		}
		<-w.intake.Done()
		w.mu.Lock()
		return 0
	}
	w.failures++
	w.tellLocked(w.awayLocked(err))
	return receiveBackoff.after(w.failures)
}

// tellLocked emits an event, if there is one, without the lock.
func (w *worker) tellLocked(e Event) {
	if e == nil {
		return
	}
	w.mu.Unlock()
	w.r.emit(e)
	w.mu.Lock()
}

// awayLocked notes that the worker's broker does not answer. It is an event for the first worker only.
func (w *worker) awayLocked(err error) Event {
	first := w.r.health.away(err, !w.away)
	w.away = true
	if !first {
		return nil
	}
	return &BrokerAway{Origin: w.r.origin, Err: err}
}

// backLocked notes that it does again. It is an event for the last worker only.
func (w *worker) backLocked() Event {
	if !w.away {
		return nil
	}
	w.away, w.failures = false, 0
	after, last := w.r.health.back()
	if !last {
		return nil
	}
	return &BrokerBack{Origin: w.r.origin, After: after}
}

// reach finds out what no Receive tells while it waits: that the broker is away, or that it is there again and has nothing.
func (w *worker) reach(now time.Time) {
	waiter, knows := w.recv.(driver.Waiter)
	away := knows && waiter.Waiting() == driver.ErrDisconnected.Error()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == 0 {
		return
	}
	lasts := now.Sub(w.r.clock.time(w.asked))
	switch {
	case away:
		w.tellLocked(w.awayLocked(driver.ErrDisconnected))
	case knows && lasts >= answeredAfter, lasts >= silentAfter:
		w.tellLocked(w.backLocked())
	}
}
