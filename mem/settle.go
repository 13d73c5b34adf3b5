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
		h := handoutOf(s.Delivery)
		if h == nil {
			f.add(len(batch), i, errForeign)
			continue
		}
		if h.q != q {
			if q != nil {
				q.unlock()
			}
			q = h.q
			q.mu.Lock()
		}
		if !h.with(r, s.Delivery) || now != 0 {
			if err := h.check(r, s.Delivery, now); err != nil {
				f.add(len(batch), i, err)
				continue
			}
		}
		q.settle(h, s)
	}
	if q != nil {
		q.unlock()
	}
	return f.err(len(batch))
}

// handoutOf returns what a delivery names, or nil.
func handoutOf(d *driver.Delivery) *handout {
	if d == nil {
		return nil
	}
	h, _ := d.Token.Ref.(*handout)
	return h
}

// with reports whether d is in the hand of r. The delivery may be a copy that was kept from an earlier handing out, which
// the token tells.
func (h *handout) with(r *receiver, d *driver.Delivery) bool {
	return h.owner != nil && h.owner.r == r && h.number == d.Token.B && h.tenure == d.Tenure
}

// check says why d is not in the hand of r, or not any more.
func (h *handout) check(r *receiver, d *driver.Delivery, now time.Duration) error {
	switch {
	case !h.with(r, d) && h.owner != nil && h.owner.r != r:
		return errForeign
	case !h.with(r, d):
		return errSettled
	case now != 0 && h.end <= now:
		h.expire()
		return errLease
	default:
		return nil
	}
}

// settle applies a verdict to what is in hand.
func (q *queue) settle(h *handout, s *driver.Settlement) {
	e := h.drop()
	q.recycleHandout(h)
	if s.Verdict == driver.Done {
		q.recycle(e)
		return
	}
	if !q.b.cfg.Weak.CountReleases {
		e.count--
	}
	if q.poison {
		e.move()
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
