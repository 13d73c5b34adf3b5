package wherry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// errTooLate is an outcome of a handler that was abandoned.
var errTooLate = fmt.Errorf("%w: the handler returned after it was abandoned", ErrRevoked)

// A flush is settlements on their way to the broker, with the context of the call. It is used again.
type flush struct {
	batch []driver.Settlement
	// tenure is that of each of the batch, and tenures where they are different: once a delivery was settled it is the
	// driver's, and nothing of it is read.
	tenure  uint64
	tenures []uint64
	ctx     lazyContext
}

// tenureOf is that of an entry of the batch.
func (f *flush) tenureOf(i int) uint64 {
	if len(f.tenures) == 0 {
		return f.tenure
	}
	return f.tenures[i]
}

// settleLocked notes a decided settlement. It reaches the broker when enough wait, when the buffer runs empty, or after
// the linger.
func (w *worker) settleLocked(s driver.Settlement) { w.out.batch = append(w.out.batch, s) }

// done notes that deliveries are done.
func (f *flush) done(ds []*driver.Delivery) {
	n := len(f.batch)
	f.batch = slices.Grow(f.batch, len(ds))[:n+len(ds)]
	for i, d := range ds {
		f.batch[n+i] = driver.Settlement{Delivery: d, Verdict: driver.Done}
	}
}

// owingLocked reports whether anything decided has not been given to the broker.
func (w *worker) owingLocked() bool { return len(w.out.batch) > 0 }

// lingerLocked makes sure that what is decided does not wait behind a slow handler. There is one timer per worker, armed
// once per linger and never stopped on the way.
func (w *worker) lingerLocked() {
	if !w.lingering && w.owingLocked() {
		w.armLingerLocked()
	}
}

func (w *worker) armLingerLocked() {
	w.lingering = true
	w.seen = w.handled
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
	w.recallAllLocked()
	w.unstickLocked()
	if w.owingLocked() && !w.done {
		w.flushLocked()
	}
}

// flushLocked gives what is decided to the broker. In process that is done at once, without the lock; elsewhere beside
// the lanes, since it costs a round trip. So is everywhere what the broker refuses at first: no lane waits for a broker that
// is away, least of all the one that could find it back.
func (w *worker) flushLocked() {
	if w.done {
		return // the receiver is about to be closed, and what it did not hear goes back
	}
	f := w.departLocked()
	if !w.info.Volatile {
		w.settling.Go(func() { w.arrive(f, w.settle(f)) })
		return
	}
	w.settleNowLocked(f)
}

// departLocked is what is decided, on its way.
func (w *worker) departLocked() *flush {
	f := w.out
	w.out = w.freshLocked()
	f.tenure, f.tenures = w.tenures.last, f.tenures[:0]
	if w.tenures.mixed {
		for i := range f.batch {
			f.tenures = append(f.tenures, f.batch[i].Delivery.Tenure)
		}
	}
	w.flying = append(w.flying, f)
	return f
}

// settleNowLocked waits for the broker's first answer, without the lock.
func (w *worker) settleNowLocked(f *flush) {
	w.settling.Add(1)
	defer w.settling.Done()
	w.mu.Unlock()
	err := w.settle(f)
	w.lock()
	if err == nil {
		w.settledLocked(f)
		return
	}
	w.settling.Go(func() { w.arrive(f, err) })
}

// arrive follows a flush from the broker's first answer to its end.
func (w *worker) arrive(f *flush, err error) {
	w.settleAgain(f, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settledLocked(f)
}

func (w *worker) freshLocked() *flush {
	if n := len(w.spare); n > 0 {
		f := w.spare[n-1]
		w.spare = w.spare[:n-1]
		return f
	}
	return &flush{
		batch: make([]driver.Settlement, 0, w.settleBatch+bunchSize),
		ctx:   lazyContext{base: w.settleBase, cause: errSettleTimeout, clock: &w.r.clock},
	}
}

// settledLocked ends the engine's ownership of what was flushed.
func (w *worker) settledLocked(f *flush) {
	w.flying = slices.DeleteFunc(w.flying, func(other *flush) bool { return other == f })
	w.keepLocked(f, nil)
	if len(w.spare) < maxSpareFlushes {
		w.spare = append(w.spare, f)
	}
}

const maxSpareFlushes = 4

// keepLocked ends the engine's ownership of what was flushed, but for the entries with the given indices, which ascend.
func (w *worker) keepLocked(f *flush, again []int) {
	w.forgetLocked(len(f.batch) - len(again))
	if w.tenures.ending() {
		rest := again
		for i := range f.batch {
			if len(rest) > 0 && rest[0] == i {
				rest = rest[1:]
				continue
			}
			w.tenures.settledLocked(f.tenureOf(i))
		}
	}
	for to, from := range again {
		f.batch[to] = f.batch[from]
		if len(f.tenures) > 0 {
			f.tenures[to] = f.tenures[from]
		}
	}
	clear(f.batch[len(again):])
	f.batch, f.tenures = f.batch[:len(again)], f.tenures[:min(len(f.tenures), len(again))]
}

// forgetLocked gives back the credit of n deliveries.
func (w *worker) forgetLocked(n int) {
	w.unsettled -= n
	if w.starved && n > 0 {
		w.starved = false
		w.wakeLocked()
	}
}

var errSettleTimeout error = timeoutError("settling took too long")

// settle gives a batch to the broker. The context of the call costs nothing until the driver waits for it.
func (w *worker) settle(f *flush) error {
	f.ctx.deadline = w.r.clock.now().Add(settleTimeout)
	err := w.settleOnce(&f.ctx, f.batch)
	if !f.ctx.end(context.Canceled) {
		f.ctx = lazyContext{base: w.settleBase, cause: errSettleTimeout, clock: &w.r.clock}
	}
	return err
}

// settleOnce is one call, during which nothing is extended, and after which nothing of the batch is.
func (w *worker) settleOnce(ctx context.Context, batch []driver.Settlement) error {
	w.leases.lock()
	defer w.leases.unlock()
	w.leases.remove(batch)
	return w.recv.Settle(ctx, batch)
}

// settleAgain tries what was refused again, until each entry is answered for: given, revoked, or left to the broker because
// the receiver is closed or the time for settling is over. It does not give up before, since the broker would wait for the
// answer for as long as the receiver lives. Meanwhile the entry keeps its lease, as everything else does.
func (w *worker) settleAgain(f *flush, err error) {
	for failures := 1; err != nil; failures++ {
		again, failed, last := sortFailed(len(f.batch), err)
		if failed > 0 {
			w.r.emit(&SettleFailed{Origin: w.r.origin, Count: failed, Err: last})
		}
		w.mu.Lock()
		w.keepLocked(f, again)
		w.mu.Unlock()
		if len(again) == 0 {
			return
		}
		w.leases.add(f.batch)
		if sleep(w.settleBase, settleBackoff.after(failures)) != nil {
			w.leases.remove(f.batch)
			return
		}
		ctx, stop := context.WithTimeoutCause(w.settleBase, settleTimeout, errSettleTimeout)
		err = w.settleOnce(ctx, f.batch)
		stop()
	}
}

// sortFailed returns the entries of a failed batch of n that may be tried again, how many failed in all, those that are
// lost to this worker included, and the last of their errors.
func sortFailed(n int, err error) (again []int, failed int, last error) {
	for i := range n {
		one := driver.EntryError(err, i)
		if one == nil {
			continue
		}
		failed, last = failed+1, one
		if !errors.Is(one, ErrRevoked) && !errors.Is(one, ErrClosed) {
			again = append(again, i)
		}
	}
	return again, failed, last
}
