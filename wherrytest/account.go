package wherrytest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// An account is a receiver in the books: where it receives, and what it has in hand.
type account struct {
	ledger *ledger
	source driver.Source
	manner driver.Manner
	info   driver.Info
	places map[string]place // by the topic of a delivery
	ended  chan struct{}    // closed with the receiver
	ending sync.Once
	lost   <-chan driver.Revocation // made by the first revocations

	// Guarded by the ledger's lock.
	hands map[*driver.Delivery]*hand
	gone  bool
}

// A hand is a delivery that was received and not settled.
type hand struct {
	at      place
	role    driver.Role
	id      string
	copy    generation
	attempt int // which begins with the copy's, and rises where what fails stays
	tenure  uint64
	since   time.Time
	due     driver.Stamp // when what stays is tried again; 0 while it does not wait
	dropped *step        // it was given up, and is lost once it is settled
	// A copy of it went elsewhere, which is a step of its story once it is settled. The step stands where the copy was
	// sent: the copy may be handled, and even dead, before this is settled.
	moved bool
	next  step
	write func(step)
}

// moveTo notes that o is the copy.
func (h *hand) moveTo(o *outgoing, next step) { h.moved, h.next, h.write = true, next, o.write }

// newAccount opens an account for a receiver that is open.
func newAccount(l *ledger, s driver.Source, m driver.Manner, info driver.Info) *account {
	a := &account{
		ledger: l, source: s, manner: m, info: info, places: make(map[string]place), ended: make(chan struct{}),
		hands: make(map[*driver.Delivery]*hand),
	}
	l.opened(a)
	return a
}

// keeps reports whether what fails stays in hand until it is done. Elsewhere it goes back as a copy.
func (a *account) keeps() bool {
	return a.manner == driver.Sequenced || a.manner == driver.Broadcasting
}

// role is that of the topic that a delivery came from.
func (a *account) role(topic string) driver.Role {
	for _, t := range a.source.Topics {
		if t.Name == topic {
			return t.Role
		}
	}
	return driver.Main
}

// close ends the account: what it has in hand goes back.
func (a *account) close() {
	a.ending.Do(func() { close(a.ended) })
	a.ledger.closed(a)
}

// extend renews leases where the real receiver has some.
func (*account) extend(ctx context.Context, inner any, batch []*driver.Delivery) error {
	if e, ok := inner.(driver.Extender); ok {
		return e.Extend(ctx, batch)
	}
	return nil
}

// waiting is why the real receiver brings nothing.
func (*account) waiting(inner any) string {
	if w, ok := inner.(driver.Waiter); ok {
		return w.Waiting()
	}
	return ""
}

// depth is how much waits for the real receiver.
func (*account) depth(ctx context.Context, inner any) (driver.Depth, error) {
	if in, ok := inner.(driver.ReceiverInspector); ok {
		return in.Depth(ctx)
	}
	return driver.Depth{}, fmt.Errorf("%T is not a driver.ReceiverInspector: %w", inner, errors.ErrUnsupported)
}

// revocations passes on the tenures that end, after what was in hand of those that are lost is out of the books. The
// engine reads it once.
func (a *account) revocations(inner any) <-chan driver.Revocation {
	rv, ok := inner.(driver.Revoker)
	if !ok {
		return nil
	}
	if a.lost == nil {
		out := make(chan driver.Revocation)
		a.lost = out
		go a.forward(rv.Revocations(), out)
	}
	return a.lost
}

func (a *account) forward(in <-chan driver.Revocation, out chan<- driver.Revocation) {
	defer close(out)
	for {
		select {
		case rev, open := <-in:
			if !open {
				return
			}
			if rev.Lost {
				a.ledger.lost(a, rev.Tenure)
			}
			select {
			case out <- rev:
			case <-a.ended:
				if rev.Done != nil {
					rev.Done() // closing gave back what there was
				}
				return
			}
		case <-a.ended:
			return
		}
	}
}
