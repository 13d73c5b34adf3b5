package wherry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	firstSettleBackoff = 50 * time.Millisecond
	maxSettleBackoff   = 2 * time.Second
)

// errTooLate is an outcome of a handler that was abandoned.
var errTooLate = fmt.Errorf("%w: the handler returned after it was abandoned", ErrRevoked)

// A flush is settlements on their way to the broker, with the context of the call. It is used again.
type flush struct {
	batch []driver.Settlement
	ctx   lazyContext
}

// settleLocked notes a decided settlement. It reaches the broker when enough wait, when the buffer runs empty, or after
// the linger.
func (w *worker) settleLocked(s driver.Settlement) { w.out.batch = append(w.out.batch, s) }

// owingLocked reports whether anything decided has not been given to the broker.
func (w *worker) owingLocked() bool { return len(w.out.batch) > 0 }

// lingerLocked makes sure that what is decided does not wait behind a slow handler. There is one timer per worker, armed
// once per linger and never stopped on the way.
func (w *worker) lingerLocked() {
	if w.lingering || !w.owingLocked() {
		return
	}
	w.lingering = true
	if w.timer == nil {
		w.timer = time.AfterFunc(w.linger, w.lingered)
	} else {
		w.timer.Reset(w.linger)
	}
}

func (w *worker) lingered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lingering = false
	if w.owingLocked() && !w.done {
		w.flushLocked()
	}
}

// flushLocked gives what is decided to the broker. In process that is done at once, without the lock; elsewhere beside
// the lanes, since it costs a round trip.
func (w *worker) flushLocked() {
	if w.done {
		return // the receiver is about to be closed, and what it did not hear goes back
	}
	f := w.out
	w.out = w.freshLocked()
	w.flying = append(w.flying, f)
	if !w.info.Volatile {
		w.settling.Go(func() {
			w.settle(f)
			w.mu.Lock()
			w.settledLocked(f)
			w.mu.Unlock()
		})
		return
	}
	w.settling.Add(1)
	w.mu.Unlock()
	w.settle(f)
	w.mu.Lock()
	w.settledLocked(f)
	w.settling.Done()
}

func (w *worker) freshLocked() *flush {
	if n := len(w.spare); n > 0 {
		f := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return f
	}
	return &flush{
		batch: make([]driver.Settlement, 0, w.settleBatch),
		ctx:   lazyContext{base: w.settleBase, cause: errSettleTimeout, clock: &w.r.clock},
	}
}

// settledLocked ends the engine's ownership of what was flushed.
func (w *worker) settledLocked(f *flush) {
	w.flying = slices.DeleteFunc(w.flying, func(other *flush) bool { return other == f })
	w.forgetLocked(len(f.batch))
	if w.tenures.ending() {
		for _, s := range f.batch {
			w.tenures.settledLocked(s.Delivery.Tenure)
		}
	}
	clear(f.batch)
	f.batch = f.batch[:0]
	if len(w.spare) < maxSpareFlushes {
		w.spare = append(w.spare, f)
	}
}

const maxSpareFlushes = 4

// forgetLocked gives back the credit of n deliveries.
func (w *worker) forgetLocked(n int) {
	w.unsettled -= n
	if w.starved && n > 0 {
		w.starved = false
		w.wakeLocked()
	}
}

var errSettleTimeout = errors.New("settling took too long")

// settle gives a batch to the broker and stays until each entry is answered for: given, revoked, or left to the broker
// because the receiver is closed or the time for settling is over. The context of the call costs nothing until the driver
// waits for it.
func (w *worker) settle(f *flush) {
	f.ctx.arm(w.r.clock.now().Add(settleTimeout))
	if err := w.settleOnce(&f.ctx, f.batch); err != nil {
		w.settleAgain(&f.ctx, f.batch, err)
	}
	if !f.ctx.end(context.Canceled) {
		f.ctx = lazyContext{base: w.settleBase, cause: errSettleTimeout, clock: &w.r.clock}
	}
}

// settleOnce is one call, during which nothing is extended, and after which nothing of the batch is.
func (w *worker) settleOnce(ctx context.Context, batch []driver.Settlement) error {
	w.leases.lock()
	defer w.leases.unlock()
	w.leases.remove(batch)
	return w.recv.Settle(ctx, batch)
}

// settleAgain tries what was refused again. Until it is taken it keeps its lease, as everything else does meanwhile.
func (w *worker) settleAgain(ctx context.Context, batch []driver.Settlement, err error) {
	backoff := firstSettleBackoff
	for {
		again, lost, last := sortFailed(batch, err)
		if lost+len(again) > 0 {
			w.r.emit(&SettleFailed{Origin: w.r.origin, Count: lost + len(again), Err: last})
		}
		if len(again) == 0 {
			return
		}
		w.leases.add(again)
		if sleep(ctx, backoff) != nil {
			w.leases.remove(again)
			return
		}
		backoff = min(2*backoff, maxSettleBackoff)
		batch = again
		if err = w.settleOnce(ctx, batch); err == nil {
			return
		}
	}
}

// sortFailed splits a failed batch into what may be tried again and the number of what is lost to this worker.
func sortFailed(batch []driver.Settlement, err error) (again []driver.Settlement, lost int, last error) {
	for i, s := range batch {
		switch one := driver.EntryError(err, i); {
		case one == nil:
		case errors.Is(one, ErrRevoked), errors.Is(one, ErrClosed):
			lost, last = lost+1, one
		default:
			again, last = append(again, s), one
		}
	}
	return again, lost, last
}
