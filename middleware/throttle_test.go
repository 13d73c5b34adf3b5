package middleware_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// noted is a handler that notes each message.
func (r *rig) noted(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
	r.note(m.Value)
	return wherry.Ack()
}

func TestThrottleIsEven(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]wherry.ConsumeOption{
		"one lane":   nil,
		"many lanes": {wherry.Concurrency(8)},
		"workers":    {wherry.Workers(3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.publish(numbers(6)...)
				opts := append(slices.Clip(opts), middleware.Throttle(middleware.Rate{Messages: 10}))
				r.run(time.Second, r.consume(func(context.Context, *wherry.Message[string]) wherry.Outcome {
					r.note("")
					return wherry.Ack()
				}, opts...))
				assert.Equal(t, r.log.take(), []string{" 0s", " 100ms", " 200ms", " 300ms", " 400ms", " 500ms"})
			})
		})
	}
}

func TestThrottleBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.publish(numbers(5)...)
		c := r.consume(r.noted, middleware.Throttle(middleware.Rate{Messages: 60, Per: time.Minute, Burst: 3}))
		r.run(5*time.Second, c)
		assert.Equal(t, r.log.take(), []string{"0000 0s", "0001 0s", "0002 0s", "0003 1s", "0004 2s"})

		// After a long rest the burst is full again, and no fuller.
		time.Sleep(time.Hour - r.sinceStart())
		r.publish(numbers(4)...)
		r.run(5*time.Second, c)
		assert.Equal(t, r.log.take(), []string{"0000 1h0m0s", "0001 1h0m0s", "0002 1h0m0s", "0003 1h0m1s"})
	})
}

// No message overtakes another that waits.
func TestThrottleIsFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var order []time.Duration
		arrive := wherry.Use(func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				// Messages come one after another, a millisecond apart.
				time.Sleep(time.Duration(m.Body()[3]-'0') * time.Millisecond)
				r.log.add(string(m.Body()))
				return next(ctx, m)
			}
		})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			order = append(order, r.sinceStart())
			r.log.add("handled " + m.Value)
			return wherry.Ack()
		}
		r.publish(numbers(5)...)
		throttle := middleware.Throttle(middleware.Rate{Messages: 1})
		r.run(10*time.Second, r.consume(h, wherry.Concurrency(5), arrive, throttle))
		lines := r.log.take()
		var came, went []string
		for _, l := range lines {
			if len(l) > 4 {
				went = append(went, l[len(l)-4:])
			} else {
				came = append(came, l)
			}
		}
		assert.Equal(t, went, came)
		assert.True(t, slices.IsSorted(order), "not in order")
	})
}

// A rate over two consumers is one rate.
func TestThrottleOverConsumers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		throttle := middleware.Throttle(middleware.Rate{Messages: 10})
		count := func(_ context.Context, _ *wherry.Message[string]) wherry.Outcome {
			r.note("")
			return wherry.Ack()
		}
		other := wherry.NewTopic("others", codec.Text{})
		p, err := wherry.NewPublisher(t.Context(), r.broker, other)
		assert.NoError(t, err)
		for _, v := range numbers(3) {
			assert.NoError(t, p.Publish(t.Context(), &v))
		}
		assert.NoError(t, p.Close(t.Context()))
		r.publish(numbers(3)...)
		r.run(time.Second, r.consume(count, throttle), wherry.Consume(wherry.Queue(r.broker, other), count, throttle))
		assert.Equal(t, r.log.take(), []string{" 0s", " 100ms", " 200ms", " 300ms", " 400ms", " 500ms"})
	})
}

// A batch goes when a burst could, and what it took too much is made up for afterwards.
func TestThrottleBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			r.note(fmt.Sprint(b.Len()))
			return wherry.Ack()
		}
		r.publish(numbers(50)...)
		r.run(30*time.Second, r.consumeBatch(h, wherry.BatchSize(20),
			middleware.Throttle(middleware.Rate{Messages: 10, Burst: 10})))
		// 20 of which 10 were there; at 2 s the bucket is full again after a second of debt; and so on.
		assert.Equal(t, r.log.take(), []string{"20 0s", "20 2s", "10 4s"})
	})
}

func TestThrottleDefersWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		events := wherry.OnEvent(func(e wherry.Event) {
			switch e := e.(type) {
			case *wherry.Deferred:
				r.note(e.ID + " deferred")
			case *wherry.Retried:
				t.Errorf("%s was retried", e.ID)
			}
		})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(fmt.Sprintf("%s attempt %d", m.Value, m.Attempt()))
			return wherry.Ack()
		}
		r.publish("a", "b")
		r.run(2*time.Minute, r.consume(h, events, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}),
			middleware.Throttle(middleware.Rate{Messages: 1, Per: time.Minute})))
		// The handler timeout is 30 s; b waits half a minute in its lane, then a minute at the broker.
		assert.Equal(t, r.log.take(), []string{"a attempt 1 0s", "b deferred 30s", "b attempt 1 1m30s"})
		assert.Equal(t, len(r.dead()), 0)
	})
}

// A stop does not wait for a slow rate longer than the drain time, and what waits goes back as it was.
func TestThrottleReleasesAtStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		moved := wherry.OnEvent(func(e wherry.Event) {
			switch e.(type) {
			case *wherry.Deferred, *wherry.Retried, *wherry.DeadLettered:
				t.Errorf("a message was moved: %T", e)
			}
		})
		r.publish("a", "b", "c")
		c := r.consume(r.noted, moved, wherry.Concurrency(2), wherry.DrainTime(time.Second),
			middleware.Throttle(middleware.Rate{Messages: 1, Per: time.Minute}))
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		left := wherry.Run(ctx, c)
		assert.Equal(t, left.Error(), "wherry: consume orders: stopped with 2 messages left in orders")
		assert.Equal(t, r.log.take(), []string{"a 0s"})
		assert.Equal(t, r.sinceStart(), 6*time.Second)
	})
}

// A fast rate goes in small bursts, so that it does not depend on the grain of timers.
func TestThrottleFast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.publish(numbers(2000)...)
		var last time.Duration
		h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
			last = time.Since(r.began)
			return wherry.Ack()
		}
		r.run(time.Second, r.consume(h, middleware.Throttle(middleware.Rate{Messages: 100_000})))
		// A thousand at once, and a thousand in 10 ms.
		assert.Equal(t, last.Round(time.Millisecond), 10*time.Millisecond)
	})
}

func TestThrottleMistakes(t *testing.T) {
	t.Parallel()
	assert.NoError(t, startError(t, middleware.Throttle(middleware.Rate{Messages: 1})))
	wantStartError(t, middleware.Throttle(middleware.Rate{}), "throttle: Messages is 0, want at least 1")
	wantStartError(t, middleware.Throttle(middleware.Rate{Messages: 1, Per: -1, Burst: -1}),
		"throttle: Per is -1ns, want more than 0\nBurst is -1, want at least 0")
}
