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
	now := r.leaseNow()
	for rest := batch; len(rest) > 0; {
		e := entryOf(rest[0].Delivery)
		if e == nil {
			f.add(len(batch), len(batch)-len(rest), errForeign)
			rest = rest[1:]
			continue
		}
		q := e.q
		q.lock()
		if now == 0 {
			rest = q.settleDone(r, rest)
		}
		for len(rest) > 0 {
			s := &rest[0]
			if e = entryOf(s.Delivery); e == nil || e.q != q {
				break
			}
			if err := e.check(r, s.Delivery, now); err != nil {
				f.add(len(batch), len(batch)-len(rest), err)
			} else {
				q.settle(e, s)
			}
			rest = rest[1:]
		}
		q.unlock()
	}
	return f.err(len(batch))
}

// settleDone settles what one member has of the queue and is done with, up to the first that is different, and returns
// the rest.
func (q *queue) settleDone(r *receiver, batch []driver.Settlement) []driver.Settlement {
	m := entryOf(batch[0].Delivery).owner
	if m == nil || m.r != r {
		return batch
	}
	if q.strands != nil {
		return q.strands.settleDone(m, batch)
	}
	n := 0
	for n < len(batch) {
		s := &batch[n]
		e := entryOf(s.Delivery)
		if e == nil || e.q != q || e.owner != m || e.delivery.Token.B != s.Delivery.Token.B || m.tenure != s.Delivery.Tenure ||
			s.Verdict != driver.Done {
			break
		}
		e.owner = nil
		q.recycle(e)
		n++
	}
	m.dropped(n)
	return batch[n:]
}

// finishes reports whether a settlement is that the member is done with what it has in hand.
func (m *member) finishes(s *driver.Settlement) bool {
	e := entryOf(s.Delivery)
	return e != nil && e.owner == m && e.delivery.Token.B == s.Delivery.Token.B && m.tenure == s.Delivery.Tenure &&
		s.Verdict == driver.Done
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
	return e.owner != nil && e.owner.r == r && e.delivery.Token.B == d.Token.B && e.owner.tenure == d.Tenure
}

// check says why d is not in the hand of r, or not any more.
func (e *entry) check(r *receiver, d *driver.Delivery, now time.Duration) error {
	switch {
	case !e.with(r, d) && e.owner != nil && e.owner.r != r:
		return errForeign
	case !e.with(r, d):
		return errSettled
	case now != 0 && e.end <= now:
		e.lapse(now)
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
		if q.strands != nil {
			q.strands.release(e)
		} else {
			q.requeue(e)
		}
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
