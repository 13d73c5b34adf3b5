package wherry_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A shape is a way to consume orders. A fault that is impossible in one must be so in each.
type shape struct {
	name    string
	topic   wherry.Topic[order]
	group   string
	remote  bool // the broker is one that keeps what it has when the process ends
	consume consumeShape
}

// testBroker is the in-process broker, or one that stands before it.
type testBroker interface {
	driver.Queuer
	driver.Grouper
	driver.Inspector
}

type consumeShape func(s shape, b testBroker, h wherry.Handler[order], opts []wherry.ConsumerOption) wherry.Runner

// spread is a fan-out with the one group that shapes consume.
var spread = wherry.NewTopic("spread", jsonOrders{}, wherry.Fanout("g"))

// handlerShapes are the shapes with a handler: its context, its timeout and its drain are the engine's.
var handlerShapes = []shape{
	{name: "queue", topic: orders, consume: consumeOne()},
	{name: "queue, many lanes", topic: orders, consume: consumeOne(wherry.Concurrency(4))},
	{name: "queue, many workers", topic: orders, consume: consumeOne(wherry.Workers(3))},
	{name: "queue elsewhere", topic: orders, remote: true, consume: consumeOne(wherry.Concurrency(4))},
	{name: "group", topic: spread, group: "g", consume: consumeOne()},
	{name: "group, many lanes", topic: spread, group: "g", consume: consumeOne(wherry.Concurrency(4))},
	{name: "batch", topic: orders, consume: consumeBatch},
	{name: "batch elsewhere", topic: orders, remote: true, consume: consumeBatch},
	{name: "batch in a group", topic: spread, group: "g", consume: consumeBatch},
}

// allShapes are those and the loops.
var allShapes = append(slices.Clip(handlerShapes),
	shape{name: "pull", topic: orders, consume: consumePull},
	shape{name: "pull elsewhere", topic: orders, remote: true, consume: consumePull},
	shape{name: "pull from a group", topic: spread, group: "g", consume: consumePull},
)

// inEach runs a test in each shape, in a bubble of its own.
func inEach(t *testing.T, shapes []shape, test func(t *testing.T, s shape)) {
	t.Helper()
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, s) })
		})
	}
}

// runner consumes in the shape, each message with h.
func (s shape) runner(b testBroker, h wherry.Handler[order], opts ...wherry.ConsumerOption) wherry.Runner {
	return s.consume(s, b, h, opts)
}

// drain is a drain time, where the shape has one: a loop ends with whoever runs it.
func (s shape) drain(d time.Duration) []wherry.ConsumerOption {
	if strings.HasPrefix(s.name, "pull") {
		return nil
	}
	return []wherry.ConsumerOption{wherry.DrainTime(d)}
}

func (s shape) source(b testBroker) wherry.Source[order] {
	switch {
	case s.group != "":
		return wherry.Group(b, s.group, s.topic)
	case s.remote:
		return wherry.Queue(elsewhere{b}, s.topic)
	default:
		return wherry.Queue(b, s.topic)
	}
}

// dead is where the shape's dead letters are.
func (s shape) dead() wherry.Topic[wherry.DeadLetter[order]] {
	if s.group != "" {
		return wherry.GroupDeadLetters(s.topic, s.group)
	}
	return wherry.DeadLetters(s.topic)
}

// depth is what the broker has of the shape's source.
func (s shape) depth(tb testing.TB, b *mem.Broker) driver.Depth {
	tb.Helper()
	d, err := b.Depth(tb.Context(), s.driverSource())
	assert.NoError(tb, err)
	return d
}

// left is what the broker has of the shape's source, in any state.
func (s shape) left(tb testing.TB, b *mem.Broker) int {
	tb.Helper()
	d := s.depth(tb, b)
	return int(d.Ready + d.Held + d.InFlight)
}

func (s shape) driverSource() driver.Source {
	t := driver.Topic{Name: s.topic.Name(), Fanout: s.group != ""}
	return driver.Source{Topics: []driver.Topic{t}, Group: s.group, Prefetch: 100}
}

// receiver is a consumer without an engine, such as a process that is about to die.
func (s shape) receiver(tb testing.TB, b *mem.Broker) driver.Receiver {
	tb.Helper()
	open := b.OpenQueue
	if s.group != "" {
		open = b.OpenGroup
	}
	r, err := open(tb.Context(), s.driverSource())
	assert.NoError(tb, err)
	return r
}

func consumeOne(more ...wherry.ConsumeOption) consumeShape {
	return func(s shape, b testBroker, h wherry.Handler[order], opts []wherry.ConsumerOption) wherry.Runner {
		all := append([]wherry.ConsumeOption(nil), more...)
		for _, o := range opts {
			all = append(all, o)
		}
		return wherry.Consume(s.source(b), h, all...)
	}
}

func consumeBatch(s shape, b testBroker, h wherry.Handler[order], opts []wherry.ConsumerOption) wherry.Runner {
	all := []wherry.BatchOption{wherry.BatchSize(10), wherry.BatchAge(0)}
	for _, o := range opts {
		all = append(all, o)
	}
	return wherry.ConsumeBatch(s.source(b), func(ctx context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
		for i, m := range mb.All() {
			mb.Set(i, h(ctx, m))
		}
		return wherry.Outcome{}
	}, all...)
}

// pulling is a loop as a runner.
type pulling func(ctx context.Context) error

func (p pulling) Run(ctx context.Context) error { return p(ctx) }

func consumePull(s shape, b testBroker, h wherry.Handler[order], opts []wherry.ConsumerOption) wherry.Runner {
	var all []wherry.ConsumeOption
	for _, o := range opts {
		all = append(all, o)
	}
	return pulling(func(ctx context.Context) error {
		for m, err := range wherry.Pull(ctx, s.source(b), all...) {
			if err != nil {
				return err
			}
			m.Settle(h(ctx, m.Message))
		}
		return nil
	})
}

// crash is a process that takes what is there and dies with it in hand.
func crash(tb testing.TB, s shape, b *mem.Broker) []*driver.Delivery {
	tb.Helper()
	r := s.receiver(tb, b)
	got, err := r.Receive(tb.Context(), make([]*driver.Delivery, 0, 100))
	assert.NoError(tb, err)
	assert.NoError(tb, r.Close(tb.Context()))
	return got
}

// elsewhere is the in-process broker as one that keeps what it has: it is not emptied at a stop, and settling does not
// hold up the lanes.
type elsewhere struct{ testBroker }

func (e elsewhere) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := e.testBroker.OpenQueue(ctx, s)
	if err != nil {
		return nil, err
	}
	own := remoteReceiver{r, r.(driver.Revoker), r.(driver.Waiter), r.(driver.Sharer)}
	if x, ok := r.(driver.Extender); ok {
		return leasedReceiver{own, x}, nil
	}
	return own, nil
}

type remoteReceiver struct {
	driver.Receiver
	driver.Revoker
	driver.Waiter
	driver.Sharer
}

func (r remoteReceiver) Info() driver.Info {
	i := r.Receiver.Info()
	i.Volatile = false
	return i
}

type leasedReceiver struct {
	remoteReceiver
	driver.Extender
}
