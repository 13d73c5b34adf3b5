package wherrytest

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// Broker is the broker of a [Test]: the real one, with every record and settlement written down on the way. It has the
// methods of every ability; those that the real broker lacks return an error that matches [errors.ErrUnsupported]. It is
// got from [Test.Broker]. All methods may be called concurrently.
type Broker struct {
	inner  driver.Broker
	ledger *ledger
}

var (
	_ driver.Queuer    = (*Broker)(nil)
	_ driver.Grouper   = (*Broker)(nil)
	_ driver.Inspector = (*Broker)(nil)
	_ driver.Declarer  = (*Broker)(nil)
)

// need returns the real broker as the ability A.
func need[A any](b *Broker, what string) (A, error) {
	a, ok := b.inner.(A)
	if !ok {
		return a, fmt.Errorf("wherrytest: %T is not a driver.%s: %w", b.inner, what, errors.ErrUnsupported)
	}
	return a, nil
}

// OpenSender prepares to send to t.
func (b *Broker) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	inner, err := b.inner.OpenSender(ctx, t)
	if err != nil {
		return nil, err
	}
	b.ledger.declare(t.Topic)
	s := &sender{Sender: inner, ledger: b.ledger, target: t}
	if h, ok := inner.(driver.Holder); ok {
		return &holder{sender: s, inner: h}, nil
	}
	return s, nil
}

// OpenQueue opens one competing consumer of queues.
func (b *Broker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	q, err := need[driver.Queuer](b, "Queuer")
	if err != nil {
		return nil, err
	}
	return b.open(ctx, s, q.OpenQueue)
}

// OpenGroup opens one member of a group.
func (b *Broker) OpenGroup(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	g, err := need[driver.Grouper](b, "Grouper")
	if err != nil {
		return nil, err
	}
	return b.open(ctx, s, g.OpenGroup)
}

func (b *Broker) open(
	ctx context.Context, s driver.Source, open func(context.Context, driver.Source) (driver.Receiver, error),
) (driver.Receiver, error) {
	inner, err := open(ctx, s)
	if err != nil {
		return nil, err
	}
	return newReceiver(b.ledger, inner, s), nil
}

// Depth asks the real broker.
func (b *Broker) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	in, err := need[driver.Inspector](b, "Inspector")
	if err != nil {
		return driver.Depth{}, err
	}
	return in.Depth(ctx, s)
}

// Declare makes a topic and its groups, or checks that they are there.
func (b *Broker) Declare(ctx context.Context, t driver.Topic, mode driver.Topology) error {
	d, err := need[driver.Declarer](b, "Declarer")
	if err != nil {
		return err
	}
	if err := d.Declare(ctx, t, mode); err != nil {
		return err
	}
	b.ledger.declare(t)
	return nil
}

// Close closes the real broker.
func (b *Broker) Close(ctx context.Context) error { return b.inner.Close(ctx) }
