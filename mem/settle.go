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
		e, err := entryOf(s.Delivery)
		if err != nil {
			f.add(len(batch), i, err)
			continue
		}
		if e.q != q {
			if q != nil {
				q.unlock()
			}
			q = e.q
			q.mu.Lock()
		}
		if e.state != inHand || e.owner.r != r || s.Delivery != &e.delivery || now != 0 {
			if err := e.heldBy(r, s.Delivery, now); err != nil {
				f.add(len(batch), i, err)
				continue
			}
		}
		e.owner.drop(e)
		if s.Verdict == driver.Done {
			q.recycle(e)
		} else {
			q.release(e, s.Delay)
		}
	}
	if q != nil {
		q.unlock()
	}
	return f.err(len(batch))
}

// entryOf returns the entry that a delivery names.
func entryOf(d *driver.Delivery) (*entry, error) {
	if d == nil {
		return nil, errForeign
	}
	if e, ok := d.Token.Ref.(*entry); ok {
		return e, nil
	}
	return nil, errForeign
}

// heldBy returns nil when d is what r holds e as. The delivery may be a copy, kept from an earlier handing out.
func (e *entry) heldBy(r *receiver, d *driver.Delivery, now time.Duration) error {
	switch {
	case e.state != inHand || d.Token.B != e.delivery.Token.B || d.Tenure != e.delivery.Tenure:
		return errSettled
	case e.owner.r != r:
		return errForeign
	case now != 0 && e.at <= now:
		e.q.expire(e)
		return errLease
	default:
		return nil
	}
}

// release makes a dropped entry ready again, after a delay where there is one.
func (q *queue) release(e *entry, delay time.Duration) {
	if !q.b.cfg.Weak.CountReleases {
		e.count--
	}
	if q.poison && !e.lent {
		e = e.moved()
	}
	if delay <= 0 {
		q.requeue(e)
		return
	}
	q.hold(e, q.b.now()+min(delay, maxDelay))
}

// moved returns a new entry with a copy of what e has, which is overwritten.
func (e *entry) moved() *entry {
	n := e.copied()
	e.q.recycle(e)
	return n
}

// leaseNow is the time against which leases are held, 0 where there are none.
func (r *receiver) leaseNow() time.Duration {
	if r.b.cfg.Lease == 0 {
		return 0
	}
	return max(1, r.b.now())
}
