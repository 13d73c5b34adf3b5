package wherry_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
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

// hostileShape consumes orders in one of the shapes with a handler.
type hostileShape func(s wherry.Source[order], h wherry.Handler[order], opts ...wherry.ConsumerOption) *wherry.Consumer

// hostileShapes are one by one and all in one batch.
var hostileShapes = map[string]hostileShape{
	"one by one": func(s wherry.Source[order], h wherry.Handler[order], opts ...wherry.ConsumerOption) *wherry.Consumer {
		var own []wherry.ConsumeOption
		for _, o := range opts {
			own = append(own, o)
		}
		return wherry.Consume(s, h, own...)
	},
	"batch": func(s wherry.Source[order], h wherry.Handler[order], opts ...wherry.ConsumerOption) *wherry.Consumer {
		var own []wherry.BatchOption
		for _, o := range opts {
			own = append(own, o)
		}
		return wherry.ConsumeBatch(s, func(ctx context.Context, b *wherry.MessageBatch[order]) wherry.Outcome {
			for i, m := range b.All() {
				b.Set(i, h(ctx, m))
			}
			return wherry.Outcome{}
		}, own...)
	},
}

// consumeHostile handles the orders 1 to 3 in each shape, for ten minutes, and checks which calls that took and what
// became of order 2.
func consumeHostile(
	t *testing.T, topic wherry.Topic[order], h wherry.Handler[order], want string, why wherry.Reason,
	opts ...wherry.ConsumerOption,
) {
	t.Helper()
	for name, consume := range hostileShapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				publish(t, b, topic, order{ID: 1}, order{ID: 2, Text: "bad"}, order{ID: 3})
				var c calls
				r := start(t, consume(wherry.Queue(b, topic), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
					c.add("%d/%d", m.Value.ID, m.Attempt())
					return h(ctx, m)
				}, opts...))
				time.Sleep(10 * time.Minute)
				r.mustEnd()
				assert.Equal(t, strings.Join(c.all(), " "), want)
				dead := collectDead(t, b, wherry.DeadLetters(topic))
				assert.Equal(t, len(dead), 1)
				assert.Equal(t, dead[0].Value.Reason, why)
			})
		})
	}
}

// panickyCodec panics on a body that is bad.
type panickyCodec struct{ jsonOrders }

func (c panickyCodec) Decode(src []byte, v *order) error {
	err := c.jsonOrders.Decode(src, v)
	if v.Text == "bad" {
		panic("hostile body")
	}
	return err
}

// A body on which the codec panics is undecodable: its handler is not called, and the others of its batch are not tried
// again for it.
func TestACodecThatPanicsRefusedTheBody(t *testing.T) {
	t.Parallel()
	topic := wherry.NewTopic("orders", panickyCodec{})
	ack := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
	consumeHostile(t, topic, ack, "1/1 3/1", wherry.ReasonUndecodable)
}

func TestPullSurvivesACodecThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		topic := wherry.NewTopic("orders", panickyCodec{})
		publish(t, b, topic, order{ID: 1}, order{ID: 2, Text: "bad"}, order{ID: 3})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		var c calls
		for m, err := range wherry.Pull(ctx, wherry.Queue(b, topic)) {
			assert.NoError(t, err)
			c.add("%d", m.Value.ID)
			m.Settle(wherry.Ack())
		}
		assert.Equal(t, strings.Join(c.all(), " "), "1 3")
		assert.Equal(t, len(collectDead(t, b, wherry.DeadLetters(topic))), 1)
	})
}

// wordless is an error that a handler returns as a nil pointer.
type wordless struct{ text string }

func (e *wordless) Error() string { return e.text }

// An error whose text cannot be had is an error like any other.
func TestAnErrorThatIsANilPointer(t *testing.T) {
	t.Parallel()
	consumeHostile(t, orders, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
		if m.Value.ID == 2 {
			var err *wordless
			return wherry.Reject(err)
		}
		return wherry.Ack()
	}, "1/1 2/1 3/1", wherry.ReasonRejected, wherry.LogTo(slog.New(slog.NewTextHandler(new(strings.Builder), nil))))
	var err *wordless
	for _, text := range []string{wherry.Retry(err).String(), (&wherry.PanicError{Value: err}).Error()} {
		assert.Equal(t, strings.Contains(text, "wordless"), true)
	}
}

// A transaction without a bound but its age grows to no more than there are numbers.
func TestHugeTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publishMany(t, b, orders, 100)
		r := start(t, wherry.Consume(wherry.Transacted(b, orders, wherry.TxAtMost(math.MaxInt, time.Second)),
			func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }))
		time.Sleep(10 * time.Second)
		publishMany(t, b, orders, 100)
		time.Sleep(10 * time.Second)
		r.mustEnd()
		assert.Equal(t, depthOf(t, b, "orders"), 0)
	})
}

// A policy's function that panics does not end the process: the policy itself counts.
func TestForErrorThatPanics(t *testing.T) {
	t.Parallel()
	consumeHostile(t, orders, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
		if m.Value.ID == 2 {
			return wherry.Retry(nil)
		}
		return wherry.Ack()
	}, "1/1 2/1 3/1 2/2", wherry.ReasonExhausted, wherry.RetryWith(wherry.RetryPolicy{
		MaxAttempts: 2, ForError: func(err error) *wherry.RetryPolicy { panic(err.Error()) },
	}))
}

// A loop over Pull ends with the broker.
func TestPullEndsWhenTheBrokerIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		time.AfterFunc(time.Second, func() { _ = b.Close(context.Background()) })
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		began := time.Now()
		var last error
		for _, err := range wherry.Pull(ctx, wherry.Queue(b, orders)) {
			last = err
		}
		assert.ErrorIs(t, last, wherry.ErrClosed)
		assert.Equal(t, time.Since(began), time.Second)
	})
}

// Numbers that stand for "no limit" are none, and cost no memory.
func TestHugeOptions(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
	handleAll := func(context.Context, *wherry.MessageBatch[order]) wherry.Outcome { return wherry.Ack() }
	for name, consume := range map[string]func(b *mem.Broker) *wherry.Consumer{
		"one by one": func(b *mem.Broker) *wherry.Consumer {
			return wherry.Consume(wherry.Queue(b, orders), handle, wherry.Prefetch(math.MaxInt),
				wherry.HandlerTimeout(math.MaxInt64-1), wherry.DrainTime(math.MaxInt64), wherry.GraceTime(math.MaxInt64),
				wherry.StallAfter(math.MaxInt64), wherry.MaxDelivered(math.MaxInt), wherry.BodyLimit(math.MaxInt))
		},
		"batch": func(b *mem.Broker) *wherry.Consumer {
			return wherry.ConsumeBatch(wherry.Queue(b, orders), handleAll, wherry.BatchSize(math.MaxInt))
		},
		"batch of bytes": func(b *mem.Broker) *wherry.Consumer {
			most := wherry.BatchBytes(math.MaxInt)
			return wherry.ConsumeBatch(wherry.Queue(b, orders), handleAll, wherry.BatchSize(1<<40), most)
		},
		"batch that ages": func(b *mem.Broker) *wherry.Consumer {
			return wherry.ConsumeBatch(wherry.Queue(b, orders), handleAll, wherry.BatchAge(math.MaxInt64))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(mem.Config{MaxMessages: 100_000})
				defer b.Close(context.Background())
				const n = 5000 // more than one Receive brings
				publishMany(t, b, orders, n)
				r := start(t, consume(b))
				time.Sleep(time.Second)
				r.mustEnd()
				assert.Equal(t, depthOf(t, b, "orders"), 0)
			})
		})
	}
}

// A publish timeout that stands for "no limit" is none, on a broker where publishes share calls and on one where not.
func TestHugePublishTimeout(t *testing.T) {
	t.Parallel()
	for name, cfg := range joins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(cfg)
				p, err := wherry.NewPublisher(t.Context(), b, orders, wherry.PublishTimeout(math.MaxInt64))
				assert.NoError(t, err)
				s := publishEach(t.Context(), p, 2*cfg.MaxMessages)
				time.Sleep(time.Hour)
				began := time.Now()
				assert.NoError(t, b.Close(t.Context()))
				accepted, refused := s.results()
				assert.Equal(t, len(accepted), cfg.MaxMessages)
				for _, err := range refused {
					assert.ErrorIs(t, err, wherry.ErrClosed)
				}
				assert.Equal(t, time.Since(began), time.Duration(0))
				_ = p.Close(t.Context())
			})
		})
	}
}

// The zero consumer and a nil one are refused, and may be asked.
func TestConsumerThatIsNone(t *testing.T) {
	t.Parallel()
	for _, c := range []*wherry.Consumer{nil, {}} {
		_, err := c.Prepare(t.Context())
		assert.True(t, err != nil, "Prepare of a consumer that is none succeeds")
		assert.True(t, c.Run(t.Context()) != nil, "Run of a consumer that is none succeeds")
		c.Pause("early")()
		c.PauseFor(time.Hour, "early")()
		assert.Equal(t, c.Health().State, wherry.StateIdle)
		assert.Equal(t, c.Health().Backlog, -1)
		assert.Equal(t, c.Name(), "")
	}
}

// So is the zero publisher: nothing was sent.
func TestPublisherThatIsNone(t *testing.T) {
	t.Parallel()
	var p wherry.Publisher[order]
	assert.ErrorIs(t, p.Publish(t.Context(), &order{}), wherry.ErrNotSent)
	assert.ErrorIs(t, p.Publish(t.Context(), &order{}, wherry.WithID("1")), wherry.ErrNotSent)
	assert.ErrorIs(t, p.PublishAll(t.Context(), slices.Values([]*order{{}})), wherry.ErrNotSent)
	assert.NoError(t, p.Close(t.Context()))
}

// And a router: it has no consumer, and says so where it is asked for one.
func TestRouterThatIsNone(t *testing.T) {
	t.Parallel()
	for _, r := range []*wherry.Router{nil, {}} {
		assert.Equal(t, len(r.Consumers())+len(r.Names())+len(r.Health()), 0)
		assert.ErrorIs(t, r.Stop(t.Context(), "orders"), wherry.ErrNoConsumer)
		assert.ErrorIs(t, r.Pause("orders", "early"), wherry.ErrNoConsumer)
		assert.ErrorIs(t, r.Resume("orders"), wherry.ErrNoConsumer)
	}
}

// A number of goroutines or receivers that no process could run is a mistake, and not an attempt.
func TestImpossibleNumbersAreRefused(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
	for want, opts := range map[string][]wherry.ConsumeOption{
		"concurrency is 65537, want at most 65536":                 {wherry.Concurrency(1<<16 + 1)},
		"workers is 9223372036854775807, want at most 65536":       {wherry.Workers(math.MaxInt)},
		"65537 workers, want at most 65536":                        {wherry.WorkersBetween(1, 1<<16+1)},
		"2000 workers of concurrency 1000 are 2000000 handlers at": {wherry.WorkersBetween(1, 2000), wherry.Concurrency(1000)},
	} {
		err := wherry.Consume(wherry.Queue(newMem(t), orders), handle, opts...).Run(t.Context())
		assert.True(t, err != nil && strings.Contains(err.Error(), want), fmt.Sprint(err))
	}
	assert.Equal(t, wherry.ScaleSnapshot{Workers: 3, PerWorker: math.MaxInt}.Capacity(), math.MaxInt)
}

// slowToOpen is a broker that takes a minute to open a queue.
type slowToOpen struct{ *mem.Broker }

func (s slowToOpen) OpenQueue(ctx context.Context, from driver.Source) (driver.Receiver, error) {
	time.Sleep(time.Minute)
	return s.Broker.OpenQueue(ctx, from)
}

// While a consumer opens, it answers: its health, a second Run, a pause.
func TestConsumerAnswersWhileItOpens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ack := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
		c := wherry.Consume(wherry.Queue(slowToOpen{newMem(t)}, orders), ack)
		r := start(t, c)
		time.Sleep(time.Second)
		began := time.Now()
		assert.Equal(t, c.Health().State, wherry.StateIdle)
		assert.ErrorIs(t, c.Run(t.Context()), wherry.ErrAlreadyRunning)
		resume := c.Pause("not yet")
		assert.Equal(t, time.Since(began), time.Duration(0))
		time.Sleep(2 * time.Minute)
		assert.Equal(t, c.Health().State, wherry.StatePaused)
		resume()
		assert.Equal(t, c.Health().State, wherry.StateRunning)
		r.mustEnd()
	})
}
