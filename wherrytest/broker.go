package wherrytest

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/ear"
)

// hearing is how a test's broker hears what no broker sees.
type hearing = ear.Ear

// Broker is the broker of a [Test]: the real one, with every record and settlement written down on the way. It has the
// methods of every ability of a broker; those that the real one lacks return an error that matches [errors.ErrUnsupported],
// which is the consumer's when it starts. A function of yours that takes several abilities as one interface can be given it. It
// is got from [Test.Broker]. All methods may be called concurrently.
type Broker struct {
	hearing
	inner  driver.Broker
	ledger *ledger
}

var (
	_ driver.Queuer         = (*Broker)(nil)
	_ driver.Grouper        = (*Broker)(nil)
	_ driver.Sequencer      = (*Broker)(nil)
	_ driver.GroupSequencer = (*Broker)(nil)
	_ driver.Broadcaster    = (*Broker)(nil)
	_ driver.Transactor     = (*Broker)(nil)
	_ driver.Inspector      = (*Broker)(nil)
	_ driver.Describer      = (*Broker)(nil)
	_ driver.Declarer       = (*Broker)(nil)
)

func newBroker(inner driver.Broker, l *ledger) *Broker {
	return &Broker{hearing: ear.New(l.hear), inner: inner, ledger: l}
}

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
	return b.open(ctx, s, driver.Competing, q.OpenQueue)
}

// OpenGroup opens one member of a group.
func (b *Broker) OpenGroup(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	g, err := need[driver.Grouper](b, "Grouper")
	if err != nil {
		return nil, err
	}
	return b.open(ctx, s, driver.Competing, g.OpenGroup)
}

// OpenSequence opens a receiver that owns keys.
func (b *Broker) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	q, err := need[driver.Sequencer](b, "Sequencer")
	if err != nil {
		return nil, err
	}
	return b.open(ctx, s, driver.Sequenced, q.OpenSequence)
}

// OpenGroupSequence opens a member of a group that owns keys.
func (b *Broker) OpenGroupSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	g, err := need[driver.GroupSequencer](b, "GroupSequencer")
	if err != nil {
		return nil, err
	}
	return b.open(ctx, s, driver.Sequenced, g.OpenGroupSequence)
}

// OpenBroadcast opens a reader of everything. A record counts as its own from then on.
func (b *Broker) OpenBroadcast(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	c, err := need[driver.Broadcaster](b, "Broadcaster")
	if err != nil {
		return nil, err
	}
	return b.open(ctx, s, driver.Broadcasting, c.OpenBroadcast)
}

func (b *Broker) open(
	ctx context.Context, s driver.Source, m driver.Manner, open func(context.Context, driver.Source) (driver.Receiver, error),
) (driver.Receiver, error) {
	inner, err := open(ctx, s)
	if err != nil {
		return nil, err
	}
	return &receiver{Receiver: inner, account: newAccount(b.ledger, s, m, inner.Info())}, nil
}

// OpenTransacted opens a consumer whose transactions are in the books once they are committed.
func (b *Broker) OpenTransacted(ctx context.Context, s driver.Source) (driver.TxReceiver, error) {
	t, err := need[driver.Transactor](b, "Transactor")
	if err != nil {
		return nil, err
	}
	inner, err := t.OpenTransacted(ctx, s)
	if err != nil {
		return nil, err
	}
	return &txReceiver{inner: inner, account: newAccount(b.ledger, s, driver.Transacted, inner.Info())}, nil
}

// Depth asks the real broker.
func (b *Broker) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	in, err := need[driver.Inspector](b, "Inspector")
	if err != nil {
		return driver.Depth{}, err
	}
	return in.Depth(ctx, s)
}

// Describe is what the real broker says of itself. Of one that does not say it is the zero Description: the least that a broker
// can do.
func (b *Broker) Describe(s driver.Source) driver.Description {
	d, ok := b.inner.(driver.Describer)
	if !ok {
		return driver.Description{}
	}
	return d.Describe(s)
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
