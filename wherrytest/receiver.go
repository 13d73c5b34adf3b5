package wherrytest

import (
	"context"

	"github.com/wherryhq/wherry/driver"
)

// A receiver writes down what is received and settled. It has the methods of every ability: where the real one lacks
// them, it never has anything to say.
type receiver struct {
	driver.Receiver
	account *account
}

var (
	_ driver.Extender = (*receiver)(nil)
	_ driver.Revoker  = (*receiver)(nil)
	_ driver.Waiter   = (*receiver)(nil)
	_ driver.Sharer   = (*receiver)(nil)

	_ driver.ReceiverInspector = (*receiver)(nil)
)

// Receive notes what it brings.
func (r *receiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	got, err := r.Receiver.Receive(ctx, dst)
	if len(got) > len(dst) {
		r.account.ledger.received(r.account, got[len(dst):])
	}
	return got, err
}

// Settle notes what is over. What is settled belongs to the driver again, so the books keep nothing but its address, and not
// even that beyond the call: the driver may use it again before the call returns.
func (r *receiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	l := r.account.ledger
	hands := l.settling(r.account, batch)
	err := r.Receiver.Settle(ctx, batch)
	l.settled(r.account, batch, hands, err)
	return err
}

// Close ends the receiver; what it has in hand goes back.
func (r *receiver) Close(ctx context.Context) error {
	err := r.Receiver.Close(ctx)
	r.account.close()
	return err
}

// Extend renews leases.
func (r *receiver) Extend(ctx context.Context, batch []*driver.Delivery) error {
	return r.account.extend(ctx, r.Receiver, batch)
}

// Revocations are the real receiver's.
func (r *receiver) Revocations() <-chan driver.Revocation { return r.account.revocations(r.Receiver) }

// Waiting is why the real receiver brings nothing.
func (r *receiver) Waiting() string { return r.account.waiting(r.Receiver) }

// Depth is how much waits for the real receiver.
func (r *receiver) Depth(ctx context.Context) (driver.Depth, error) {
	return r.account.depth(ctx, r.Receiver)
}

// Wanted is the real receiver's, or never carries anything.
func (r *receiver) Wanted() <-chan struct{} {
	if s, ok := r.Receiver.(driver.Sharer); ok {
		return s.Wanted()
	}
	return nil
}
