package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A relay stands between the engine and a broker. It counts what the broker says was settled before, which is a message
// that did not wait for its handler, and makes every round trip of a receiver longer where a cell asks for that. It costs
// one call for each receive and each settlement of many messages.
type relay struct {
	broker
	trip    time.Duration
	revoked atomic.Int64
}

var (
	_ driver.Inspector = (*relay)(nil)
	_ driver.Revoker   = (*relayed)(nil)
	_ driver.Waiter    = (*relayed)(nil)
	_ driver.Sharer    = (*relayed)(nil)
)

func (r *relay) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	inner, err := r.broker.OpenQueue(ctx, s)
	if err != nil {
		return nil, err
	}
	return r.wrap(inner), nil
}

func (r *relay) OpenGroup(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	inner, err := r.broker.OpenGroup(ctx, s)
	if err != nil {
		return nil, err
	}
	return r.wrap(inner), nil
}

func (r *relay) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	inner, err := r.broker.OpenSequence(ctx, s)
	if err != nil {
		return nil, err
	}
	return r.wrap(inner), nil
}

func (r *relay) OpenBroadcast(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	inner, err := r.broker.OpenBroadcast(ctx, s)
	if err != nil {
		return nil, err
	}
	return r.wrap(inner), nil
}

// Depth is the broker's.
func (r *relay) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	inspector, ok := r.broker.(driver.Inspector)
	if !ok {
		return driver.Depth{Ready: -1, Held: -1, InFlight: -1}, nil
	}
	return inspector.Depth(ctx, s)
}

// left is what the broker has of a source, -1 where it does not tell.
func (r *relay) left(ctx context.Context, s driver.Source) (int64, error) {
	d, err := r.Depth(ctx, s)
	if err != nil || min(d.Ready, d.Held, d.InFlight) < 0 {
		return -1, err
	}
	return d.Ready + d.Held + d.InFlight, nil
}

func (r *relay) wrap(inner driver.Receiver) driver.Receiver {
	w := &relayed{Receiver: inner, relay: r, closed: make(chan driver.Revocation)}
	w.revoker, _ = inner.(driver.Revoker)
	w.waiter, _ = inner.(driver.Waiter)
	w.sharer, _ = inner.(driver.Sharer)
	if e, ok := inner.(driver.Extender); ok {
		return relayedLease{w, e}
	}
	return w
}

// relayed is a receiver behind a relay. Abilities that it lacks are answered as by one that has them and never uses them.
type relayed struct {
	driver.Receiver
	relay   *relay
	revoker driver.Revoker
	waiter  driver.Waiter
	sharer  driver.Sharer
	closed  chan driver.Revocation // of a receiver that is no revoker
	once    sync.Once
}

type relayedLease struct {
	*relayed
	driver.Extender
}

func (r *relayed) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	if err := r.relay.travel(ctx); err != nil {
		return dst, err
	}
	return r.Receiver.Receive(ctx, dst)
}

func (r *relayed) Settle(ctx context.Context, batch []driver.Settlement) error {
	if err := r.relay.travel(ctx); err != nil {
		return err
	}
	err := r.Receiver.Settle(ctx, batch)
	if err != nil {
		for i := range batch {
			if errors.Is(driver.EntryError(err, i), driver.ErrRevoked) {
				r.relay.revoked.Add(1)
			}
		}
	}
	return err
}

func (r *relayed) Close(ctx context.Context) error {
	r.once.Do(func() { close(r.closed) })
	return r.Receiver.Close(ctx)
}

func (r *relayed) Revocations() <-chan driver.Revocation {
	if r.revoker == nil {
		return r.closed
	}
	return r.revoker.Revocations()
}

func (r *relayed) Waiting() string {
	if r.waiter == nil {
		return ""
	}
	return r.waiter.Waiting()
}

func (r *relayed) Wanted() <-chan struct{} {
	if r.sharer == nil {
		return nil
	}
	return r.sharer.Wanted()
}

// travel takes as long as the way to the broker and back does longer than it is.
func (r *relay) travel(ctx context.Context) error {
	if r.trip == 0 {
		return nil
	}
	timer := time.NewTimer(r.trip)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
