package wherry

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// send sends one encoded message within its context, or within the publish timeout where that has no deadline.
func (c *publisherCore) send(ctx context.Context, e *encoding) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	if c.join != nil && e.rec[0].Due == 0 {
		return c.join.send(ctx, e)
	}
	// The deadline costs nothing until the driver waits for it. The clock may be 2 ms behind, and the wait that much
	// shorter.
	now := e.rec[0].Control.Published
	if e.dressed { // it may be that of an original
		now = c.clock.now()
	}
	e.ctx.base, e.ctx.deadline = ctx, now.Add(c.spec.timeout) //nolint:fatcontext // It is no loop.
	var err error
	if e.dressed {
		err = c.out.deliver(&e.ctx, e.rec[:])
	} else if err = c.out.sender.Send(&e.ctx, e.rec[:]); err != nil {
		err = c.out.deliverAgain(&e.ctx, e.rec[:], c.out.sender.Send, err)
	}
	if e.ctx.touched.Load() {
		e.ctx.end(context.Canceled)
		e.ctx = c.callContext()
	}
	e.ctx.base = nil
	if err != nil {
		return told(driver.EntryError(err, 0))
	}
	return nil
}

// told is what a Send said of a record. An error that does not tell whether the record is at the broker, which the contract
// of drivers rules out, leaves that it may be: who publishes goes by the one or the other.
func told(err error) error {
	if err == nil || errors.Is(err, ErrNotSent) || errors.Is(err, ErrUnconfirmed) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
}

var errPublishTimeout error = timeoutError("publish timeout")

// chunk is how many records go out in one call of PublishAll.
func (c *publisherCore) chunk() int {
	n := max(c.out.limits.Batch, publishChunk)
	if most := c.out.limits.MaxBatch; most > 0 {
		n = min(n, most)
	}
	return n
}

// batchRun is one PublishAll: messages collected for the next call, and what became of those before.
type batchRun struct {
	core   *publisherCore
	most   int
	bytes  int
	batch  []*encoding
	recs   []driver.Record
	places []int // of the batch, in errs
	total  int
	errs   []error // nil until the first failure
	keys   map[string]struct{}
}

// failed notes a message that is not sent.
func (r *batchRun) failed(e *encoding, err error) {
	r.note(r.total, e, err)
	r.total++
	r.core.give(e)
}

func (r *batchRun) note(place int, e *encoding, err error) {
	for len(r.errs) <= place {
		r.errs = append(r.errs, nil)
	}
	r.errs[place] = err
	if len(e.key) > 0 {
		if r.keys == nil {
			r.keys = make(map[string]struct{})
		}
		r.keys[string(e.key)] = struct{}{}
	}
}

// errEarlierOfKey is a message that was not sent because one before it in its key failed.
var errEarlierOfKey = fmt.Errorf("%w: an earlier message of its key failed", ErrNotSent)

// add collects a message and sends what was collected when it is enough.
func (r *batchRun) add(ctx context.Context, e *encoding) {
	size := e.rec[0].Size()
	if most := r.core.out.limits.MaxBytes; most > 0 && r.bytes+size > most && len(r.batch) > 0 {
		r.flush(ctx)
	}
	if _, bad := r.keys[string(e.key)]; bad && len(e.key) > 0 {
		r.failed(e, errEarlierOfKey)
		return
	}
	r.batch = append(r.batch, e)
	r.recs = append(r.recs, e.rec[0])
	r.places = append(r.places, r.total)
	r.total++
	r.bytes += size
	if len(r.batch) >= r.most {
		r.flush(ctx)
	}
}

// flush sends what was collected.
func (r *batchRun) flush(ctx context.Context) {
	if len(r.batch) == 0 {
		return
	}
	var err error
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	} else {
		bounded, stop := ctx, context.CancelFunc(func() {})
		if _, ok := ctx.Deadline(); !ok {
			bounded, stop = context.WithTimeoutCause(ctx, r.core.spec.timeout, errPublishTimeout)
		}
		err = r.core.out.deliver(bounded, r.recs)
		stop()
	}
	for i, e := range r.batch {
		if one := told(driver.EntryError(err, i)); one != nil {
			r.note(r.places[i], e, one)
		}
		r.core.give(e)
	}
	clear(r.batch)
	clear(r.recs)
	r.batch, r.recs, r.places, r.bytes = r.batch[:0], r.recs[:0], r.places[:0], 0
}

func (r *batchRun) err() error {
	if r.errs == nil {
		return nil
	}
	for len(r.errs) < r.total {
		r.errs = append(r.errs, nil)
	}
	return &BatchError{Errs: r.errs}
}

// deliver sends records now, or later where they are due later. While the connection is away it tries those that
// certainly were not sent again, under the same ids, until ctx ends.
func (o *outlet) deliver(ctx context.Context, recs []driver.Record) error {
	return o.deliverAgain(ctx, recs, o.sendOnce, o.sendOnce(ctx, recs))
}

// deliverAgain follows a delivery from its first result to its last.
func (o *outlet) deliverAgain(
	ctx context.Context, recs []driver.Record, send func(context.Context, []driver.Record) error, err error,
) error {
	for failures := 1; ; failures++ {
		if err == nil || !errors.Is(err, ErrNotSent) || !errors.Is(err, driver.ErrDisconnected) {
			return err
		}
		if _, partial := errors.AsType[*driver.BatchError](err); partial && len(recs) > 1 {
			return err
		}
		if sleep(ctx, publishBackoff.after(failures)) != nil {
			return err
		}
		err = send(ctx, recs)
	}
}
