package wherry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	firstReceiveBackoff = 100 * time.Millisecond
	maxReceiveBackoff   = 5 * time.Second
)

// receiveLocked fills the empty buffer. It gives up the lock while it waits, and holds the worker's one right to receive;
// after a failure it waits before it returns, so that a broken broker is not asked in a loop.
func (w *worker) receiveLocked(ctx context.Context) {
	w.receiving = true
	if w.owingLocked() {
		w.flushLocked()
	}
	room := w.credit - w.unsettled
	dst := w.spaceLocked()[:0:max(room, 1)]
	w.mu.Unlock()

	got, err := w.recv.Receive(ctx, dst)
	var wait time.Duration
	if err != nil {
		wait = w.receiveFailed(ctx, err)
	} else if w.r.health.isAway() {
		w.r.brokerBack()
	}

	w.mu.Lock()
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
		w.space[w.turn] = make([]*driver.Delivery, w.credit)
	}
	return w.space[w.turn]
}

// acceptLocked makes received deliveries the buffer, without those of tenures that ended.
func (w *worker) acceptLocked(got []*driver.Delivery) {
	w.unsettled += len(got)
	w.buf, w.head = got, 0
	w.turn ^= 1
	w.leases.addLocked(got)
	if w.tenures.any() {
		w.dropEndedLocked()
	}
}

// receiveFailed reports a failed Receive and returns how long to wait before the next.
func (w *worker) receiveFailed(ctx context.Context, err error) time.Duration {
	switch {
	case ctx.Err() != nil:
		return 0 // asked to stop, or a batch that is old enough
	case errors.Is(err, ErrClosed):
		w.r.fail(err)
		// Every lane ends with the run; until it does there is nothing to ask.
		<-w.intake.Done()
		return 0
	}
	failures := w.r.brokerAway(err)
	wait := min(firstReceiveBackoff<<min(failures, 10), maxReceiveBackoff)
	return wait + time.Duration(rand.Int64N(int64(wait)/4+1))
}

// brokerAway notes a failed receive; the first of several in a row is an event. It returns how many came before.
func (r *running) brokerAway(err error) int {
	failures, first := r.health.away(err)
	if first {
		r.emit(&BrokerAway{Origin: r.origin, Err: err})
	}
	return failures
}

func (r *running) brokerBack() {
	if after, was := r.health.back(); was {
		r.emit(&BrokerBack{Origin: r.origin, After: after})
	}
}
