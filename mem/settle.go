package mem

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
)

var (
	errForeign = fmt.Errorf("mem: no delivery of this receiver: %w", driver.ErrRevoked)
	errSettled = fmt.Errorf("mem: settled before or taken back: %w", driver.ErrRevoked)
	errLease   = fmt.Errorf("mem: lease ended: %w", driver.ErrRevoked)
)

// Settle takes one lock for all neighbours of one queue.
func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	if !r.b.calm.Load() {
		return r.settleOdd(ctx, batch)
	}
	return r.settle(batch)
}

func (r *receiver) settle(batch []driver.Settlement) error {
	var f failures
	var q *queue
	now := r.leaseNow()
	for i := range batch {
		s := &batch[i]
		e := entryOf(s.Delivery)
		if e == nil {
			f.add(len(batch), i, errForeign)
			continue
		}
		if e.q != q {
			if q != nil {
				q.unlock()
			}
			q = e.q
			q.mu.Lock()
		}
		if !e.with(r, s.Delivery) || now != 0 {
			if err := e.check(r, s.Delivery, now); err != nil {
				f.add(len(batch), i, err)
				continue
			}
		}
		q.settle(e, s)
	}
	if q != nil {
		q.unlock()
	}
	return f.err(len(batch))
}

// entryOf returns what a delivery names, or nil.
func entryOf(d *driver.Delivery) *entry {
	if d == nil {
		return nil
	}
	e, _ := d.Token.Ref.(*entry)
	return e
}

// with reports whether d is in the hand of r. The delivery may be a copy that was kept from an earlier handing out, which
// the token tells.
func (e *entry) with(r *receiver, d *driver.Delivery) bool {
	return e.owner != nil && e.owner.r == r && e.number == d.Token.B && e.tenure == d.Tenure
}

// check says why d is not in the hand of r, or not any more.
func (e *entry) check(r *receiver, d *driver.Delivery, now time.Duration) error {
	switch {
	case !e.with(r, d) && e.owner != nil && e.owner.r != r:
		return errForeign
	case !e.with(r, d):
		return errSettled
	case now != 0 && e.end <= now:
		e.expire()
		return errLease
	default:
		return nil
	}
}

// settle applies a verdict to what is in hand.
func (q *queue) settle(e *entry, s *driver.Settlement) {
	e.drop()
	if s.Verdict == driver.Done {
		q.recycle(e)
		return
	}
	if !q.b.cfg.Weak.CountReleases {
		e.count--
	}
	if q.poison {
		e = e.moved()
	}
	if s.Delay <= 0 {
		q.requeue(e)
		return
	}
	q.hold(e, q.b.now()+min(s.Delay, maxDelay))
}

// leaseNow is the time against which leases are held, 0 where there are none.
func (r *receiver) leaseNow() time.Duration {
	if r.b.cfg.Lease == 0 {
		return 0
	}
	return max(1, r.b.now())
}
