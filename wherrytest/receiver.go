package wherrytest

import (
	"context"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A receiver writes down what is received and settled. It has the methods of every ability: where the real one lacks
// them, it never has anything to say.
type receiver struct {
	driver.Receiver
	ledger *ledger
	source driver.Source
	places map[string]place // by the topic of a delivery
	closed chan struct{}
	once   sync.Once
	lost   <-chan driver.Revocation // made by the first Revocations

	// Guarded by the ledger's lock.
	hands map[*driver.Delivery]*hand
	gone  bool
}

// A hand is a delivery that was received and not settled.
type hand struct {
	at     place
	role   driver.Role
	id     string
	copy   generation
	tenure uint64
	since  time.Time
	// A copy of it went elsewhere, which is a step of its story once it is settled. The step stands where the copy was
	// sent: the copy may be handled, and even dead, before this is settled.
	moved bool
	next  step
	write func(step)
}

// moveTo notes that o is the copy.
func (h *hand) moveTo(o *outgoing, next step) { h.moved, h.next, h.write = true, next, o.write }

var (
	_ driver.Extender = (*receiver)(nil)
	_ driver.Revoker  = (*receiver)(nil)
	_ driver.Waiter   = (*receiver)(nil)
	_ driver.Sharer   = (*receiver)(nil)
)

func newReceiver(l *ledger, inner driver.Receiver, s driver.Source) *receiver {
	r := &receiver{
		Receiver: inner, ledger: l, source: s, places: make(map[string]place), closed: make(chan struct{}),
		hands: make(map[*driver.Delivery]*hand),
	}
	for _, t := range s.Topics {
		r.places[t.Name] = place{topic: t.Name, group: s.Group}
	}
	l.opened(r)
	return r
}

// role is that of the topic that a delivery came from.
func (r *receiver) role(topic string) driver.Role {
	for _, t := range r.source.Topics {
		if t.Name == topic {
			return t.Role
		}
	}
	return driver.Main
}

// Receive receives.
func (r *receiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	got, err := r.Receiver.Receive(ctx, dst)
	if len(got) > len(dst) {
		r.ledger.received(r, got[len(dst):])
	}
	return got, err
}

// Settle settles. What is settled belongs to the driver again, so the books keep nothing but its address, and not even
// that beyond the call: the driver may use it again before the call returns.
func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	hands := r.ledger.settling(r, batch)
	err := r.Receiver.Settle(ctx, batch)
	r.ledger.settled(r, batch, hands, err)
	return err
}

// Close ends the receiver; what it has in hand goes back.
func (r *receiver) Close(ctx context.Context) error {
	err := r.Receiver.Close(ctx)
	r.once.Do(func() { close(r.closed) })
	r.ledger.closed(r)
	return err
}

// Extend renews leases.
func (r *receiver) Extend(ctx context.Context, batch []*driver.Delivery) error {
	if e, ok := r.Receiver.(driver.Extender); ok {
		return e.Extend(ctx, batch)
	}
	return nil
}

// Revocations passes on the tenures that end, after what was in hand of those that are lost is out of the books. The
// engine reads it once.
func (r *receiver) Revocations() <-chan driver.Revocation {
	rv, ok := r.Receiver.(driver.Revoker)
	if !ok {
		return nil
	}
	if r.lost == nil {
		out := make(chan driver.Revocation)
		r.lost = out
		go r.forward(rv.Revocations(), out)
	}
	return r.lost
}

func (r *receiver) forward(in <-chan driver.Revocation, out chan<- driver.Revocation) {
	defer close(out)
	for {
		select {
		case rev, open := <-in:
			if !open {
				return
			}
			if rev.Lost {
				r.ledger.lost(r, rev.Tenure)
			}
			select {
			case out <- rev:
			case <-r.closed:
				if rev.Done != nil {
					rev.Done() // closing gave back what there was
				}
				return
			}
		case <-r.closed:
			return
		}
	}
}

// Waiting is why the real receiver brings nothing.
func (r *receiver) Waiting() string {
	if w, ok := r.Receiver.(driver.Waiter); ok {
		return w.Waiting()
	}
	return ""
}

// Wanted is the real receiver's, or never carries anything.
func (r *receiver) Wanted() <-chan struct{} {
	if s, ok := r.Receiver.(driver.Sharer); ok {
		return s.Wanted()
	}
	return nil
}
