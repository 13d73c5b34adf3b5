package mem

import (
	"context"
	"slices"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/keytable"
)

// Depth counts exactly what the receiver could be given: all that is ready in its queues, but for what waits behind keys that
// another receiver owns, or that it has as many of in hand as it may.
func (r *receiver) Depth(ctx context.Context) (driver.Depth, error) {
	if err := ctx.Err(); err != nil {
		return driver.Depth{}, err
	}
	if err := r.usable(); err != nil {
		return driver.Depth{}, err
	}
	r.mu.Lock()
	members, closed := r.members, r.closed
	r.mu.Unlock()
	if closed {
		return driver.Depth{}, r.over()
	}
	var d driver.Depth
	var oldest driver.Stamp
	for _, m := range members {
		m.depth(&d, &oldest)
	}
	d.Oldest = oldest.Time()
	return d, nil
}

func (r *receiver) usable() error {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	return r.b.usable()
}

// depth adds what the member could be given, what is held, and what it has in hand.
func (m *member) depth(d *driver.Depth, oldest *driver.Stamp) {
	q := m.q
	q.mu.Lock()
	defer q.mu.Unlock()
	d.Held += int64(len(q.delay.heap))
	d.InFlight += int64(m.held)
	note := func(e *entry) {
		d.Ready++
		older(oldest, e.delivery.Control.Published)
	}
	s := q.strands
	for i := range q.ready.n {
		e := q.ready.at(i)
		if s == nil || len(e.delivery.Key) == 0 {
			note(e)
		} else if n := s.keys.Get(e.delivery.Key); n == nil || m.mayTake(&n.Value) {
			note(e)
		}
	}
	if s == nil {
		return
	}
	for i := range s.loose.n {
		note(s.loose.at(i))
	}
	s.keys.All(func(n *keytable.Node[strand]) bool {
		if !m.mayTake(&n.Value) {
			return true
		}
		for e := n.Value.first; e != nil; e = e.after {
			note(e)
		}
		return true
	})
}

// mayTake reports whether the member could be given something of a key.
func (m *member) mayTake(k *strand) bool {
	return k.held == 0 && (k.owner == nil || k.owner == m && k.inHand < m.most)
}

// Depth counts exactly what the receiver could be given: what is in its partitions, and in those that nobody has.
func (r *logReceiver) Depth(ctx context.Context) (driver.Depth, error) {
	if err := ctx.Err(); err != nil {
		return driver.Depth{}, err
	}
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	if err := r.b.usable(); err != nil {
		return driver.Depth{}, err
	}
	if r.closed {
		return driver.Depth{}, errReceiverClosed
	}
	shares := slices.Clone(r.reads)
	for _, g := range r.groups {
		for _, s := range g.shares {
			if s.owner == nil || s.owner == r {
				shares = append(shares, s)
			}
		}
	}
	return depthOf(shares), nil
}
