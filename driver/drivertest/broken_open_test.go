package drivertest

import (
	"context"
	"errors"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// on has every case of a harness run on a broker that f makes of a right one.
func on(f func(b *broken) driver.Broker) func(h *Harness) {
	return func(h *Harness) {
		setup := h.Setup
		h.Setup = func(tb testing.TB, h *Harness) {
			setup(tb, h)
			open := h.Open
			h.Open = func(tb testing.TB) driver.Broker { return f(open(tb).(*broken)) }
		}
	}
}

// A boundBroker ends what it opened with the context of the opening.
type boundBroker struct{ *broken }

func (b *boundBroker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.broken.OpenQueue(ctx, s)
	return &boundReceiver{Receiver: r, opening: ctx}, err
}

type boundReceiver struct {
	driver.Receiver
	opening context.Context
}

func (r *boundReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	if err := r.opening.Err(); err != nil {
		<-ctx.Done()
		return dst, err
	}
	return r.Receiver.Receive(ctx, dst)
}

// A boundSends ends its senders with the context of the opening.
type boundSends struct{ *broken }

func (b *boundSends) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	s, err := b.broken.OpenSender(ctx, t)
	return &boundSender{Sender: s, opening: ctx}, err
}

type boundSender struct {
	driver.Sender
	opening context.Context
}

func (s *boundSender) Send(ctx context.Context, batch []driver.Record) error {
	if s.opening.Err() != nil {
		return errors.Join(driver.ErrNotSent, s.opening.Err())
	}
	return s.Sender.Send(ctx, batch)
}

// A describingBroker declares what it describes.
type describingBroker struct{ *broken }

func (b *describingBroker) Describe(s driver.Source) driver.Description {
	for _, t := range s.Topics {
		_ = b.Declare(context.Background(), t, driver.Declare)
	}
	return b.broken.Describe(s)
}

// anyGroup is a source that ignores what it has no place for.
func anyGroup(_ *mem.Broker, s driver.Source) (driver.Source, error) {
	s.Topics[0].Fanout = s.Group != ""
	return s, nil
}

func TestFlawsOfOpening(t *testing.T) {
	t.Parallel()
	checkFlaws(t, map[string]flaw{
		"ends its receivers with the context of the opening": {
			h:     on(func(b *broken) driver.Broker { return &boundBroker{b} }),
			finds: []string{"queue/open/context"}, text: "deliveries came",
		},
		"ends its senders with the context of the opening": {
			h:     on(func(b *broken) driver.Broker { return &boundSends{b} }),
			finds: []string{"queue/open/context"}, text: "context canceled",
		},
		"creates topics under External": {
			b: broken{target: func(_ *mem.Broker, t driver.Target) driver.Target {
				if t.Topology == driver.External {
					t.Topology = driver.Declare
				}
				return t
			}},
			finds: []string{"queue/open/external", "group/open/external"}, text: "OpenSender under Verify",
		},
		"creates groups under External": {
			b: broken{open: func(b *mem.Broker, s driver.Source) (driver.Source, error) {
				if s.Topology == driver.External {
					return s, b.Declare(context.Background(), s.Topics[0], driver.Declare)
				}
				return s, nil
			}},
			finds: []string{"queue/open/external", "group/open/external"}, text: "under Verify of what was opened",
		},
		"takes a fan-out for a queue": {
			b: broken{open: anyGroup}, finds: []string{"queue/open/shape", "group/open/shape"}, text: "succeeded, want an error",
		},
		"takes a group for a queue": {
			b: broken{open: func(_ *mem.Broker, s driver.Source) (driver.Source, error) {
				if !s.Topics[0].Fanout {
					s.Group = ""
				}
				return s, nil
			}},
			h: on(func(b *broken) driver.Broker { return &grouplessBroker{b} }), finds: []string{"queue/open/shape"}, text: "with a group succeeded",
		},
		"sends to a group that there is not": {
			b: broken{target: func(_ *mem.Broker, t driver.Target) driver.Target {
				if !t.Topic.Fanout {
					t.Group = ""
				}
				return t
			}},
			finds: []string{"queue/open/shape"}, text: "to a group of a queue succeeded",
		},
		"wants a name": {
			b: broken{open: func(_ *mem.Broker, s driver.Source) (driver.Source, error) {
				if s.Name == "" {
					return s, errors.New("a consumer without a name")
				}
				return s, nil
			}},
			finds: []string{"queue/open/least"}, text: "without a name",
		},
		"wants room for two": {
			b: broken{receive: func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
				if r.prefetch < 2 {
					<-ctx.Done()
					return dst, ctx.Err()
				}
				return r.Receiver.Receive(ctx, dst)
			}},
			finds: []string{"queue/open/least"}, text: "0 came of 5",
		},
		"declares what it describes": {
			h:     on(func(b *broken) driver.Broker { return &describingBroker{b} }),
			finds: []string{"queue/describe/true", "transact/describe"}, text: "declares nothing",
		},
	})
}

// A grouplessBroker opens queues whatever group is asked for.
type grouplessBroker struct{ *broken }

func (b *grouplessBroker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	s.Group = ""
	return b.broken.OpenQueue(ctx, s)
}

// A broker without groups must not take a fan-out either, which nobody could receive from.
func TestFanOutOfAQueueBrokerIsFound(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		refuses bool
	}{"takes it": {}, "refuses it": {refuses: true}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := broken{}.harness()
			on(func(b *broken) driver.Broker { return &queueBroker{Broker: b, b: b, refuses: c.refuses} })(&h)
			if err := caseNamed(t, "queue/open/shape").Check(t, h); (err == nil) != c.refuses {
				t.Errorf("%v, from a broker that %s", err, what)
			}
		})
	}
}

// A queueBroker has queues, and says how much is in them.
type queueBroker struct {
	driver.Broker
	b       *broken
	refuses bool
}

func (b *queueBroker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.b.OpenQueue(ctx, s)
}

func (b *queueBroker) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	return b.b.Depth(ctx, s)
}

func (b *queueBroker) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	if t.Topic.Fanout && b.refuses {
		return nil, errors.ErrUnsupported
	}
	return b.Broker.OpenSender(ctx, t)
}
