package middleware_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// A crowd counts who is inside at once.
type crowd struct{ now, most, all atomic.Int64 }

func (c *crowd) enter() {
	n := c.now.Add(1)
	c.all.Add(1)
	for {
		m := c.most.Load()
		if n <= m || c.most.CompareAndSwap(m, n) {
			return
		}
	}
}

func (c *crowd) leave() { c.now.Add(-1) }

// numbers is n values.
func numbers(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%04d", i)
	}
	return values
}

func TestLimitOverConsumers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var inside crowd
		var last atomic.Int64
		work := func() {
			inside.enter()
			defer inside.leave()
			time.Sleep(100 * time.Millisecond)
			last.Store(int64(r.sinceStart()))
		}
		limit := middleware.Limit(3)
		h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
			work()
			return wherry.Ack()
		}
		other := wherry.NewTopic("others", codec.Text{})
		p, err := wherry.NewPublisher(t.Context(), r.broker, other)
		assert.NoError(t, err)
		for _, v := range numbers(8) {
			assert.NoError(t, p.Publish(t.Context(), &v))
		}
		assert.NoError(t, p.Close(t.Context()))
		batches := wherry.ConsumeBatch(wherry.Queue(r.broker, other),
			func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome {
				work()
				return wherry.Ack()
			}, limit, wherry.BatchSize(4))

		r.publish(numbers(28)...)
		r.run(time.Second, batches, r.consume(h, limit, wherry.Concurrency(8)), r.consume(h, limit, wherry.Workers(4)))
		assert.Equal(t, inside.most.Load(), 3)
		assert.Equal(t, inside.all.Load(), 28+2)
		// 30 calls of 100 ms, three at once; a message may change its worker at the end, which takes a moment.
		took := time.Duration(last.Load())
		assert.True(t, took >= time.Second && took < 1050*time.Millisecond, "took "+took.String())
	})
}

// A handler that panics gives its slot back.
func TestLimitAfterPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		calls := 0
		h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
			calls++
			if calls == 1 {
				return crash(errBoom)
			}
			return wherry.Ack()
		}
		r.publish("a")
		r.run(time.Second, r.consume(h, middleware.Limit(1)))
		assert.Equal(t, calls, 2)
	})
}

// A message whose context ends while it waits is deferred: it has not failed.
func TestLimitDefers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(fmt.Sprintf("%s attempt %d", m.Value, m.Attempt()))
			time.Sleep(5 * time.Second)
			return wherry.Ack()
		}
		deferred := wherry.OnEvent(func(e wherry.Event) {
			switch e := e.(type) {
			case *wherry.Deferred:
				r.note(fmt.Sprintf("%s waits %v", e.ID, e.Delay))
			case *wherry.Retried:
				t.Errorf("%s was retried", e.ID)
			}
		})
		r.publish("a")
		c := r.consume(h, middleware.Limit(1), wherry.Concurrency(2), wherry.HandlerTimeout(2*time.Second), deferred,
			wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}))
		go func() {
			time.Sleep(time.Second)
			r.publish("b")
		}()
		r.run(10*time.Second, c)
		assert.Equal(t, r.log.take(), []string{
			"a attempt 1 0s", "b waits 1s 3s", "b attempt 1 5s",
		})
		assert.Equal(t, len(r.dead()), 0)
	})
}

// The same holds for batches, behind a limit and behind a rate.
func TestBatchesThatWaitInVain(t *testing.T) {
	t.Parallel()
	for name, wait := range map[string]func() wherry.ConsumerOption{
		"limit": func() wherry.ConsumerOption { return middleware.Limit(1) },
		"throttle": func() wherry.ConsumerOption {
			return middleware.Throttle(middleware.Rate{Messages: 1, Per: 5 * time.Second})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
					r.note(fmt.Sprintf("%d of attempt %d", b.Len(), b.Message(0).Attempt()))
					time.Sleep(5 * time.Second)
					return wherry.Ack()
				}
				var deferred atomic.Int64
				count := wherry.OnEvent(func(e wherry.Event) {
					if _, ok := e.(*wherry.Deferred); ok {
						deferred.Add(1)
					}
				})
				opts := []wherry.BatchOption{
					count, wait(), wherry.BatchSize(1), wherry.Workers(2), wherry.HandlerTimeout(2 * time.Second), uncounted(t),
				}
				r.publish("a", "b")
				r.run(30*time.Second, r.consumeBatch(h, opts...))
				lines := r.log.take()
				assert.Equal(t, len(lines), 2)
				assert.True(t, deferred.Load() > 0, "nothing waited in vain")
				for _, l := range lines {
					assert.True(t, strings.HasPrefix(l, "1 of attempt 1 "), l)
				}
			})
		})
	}
}

// At a stop, what waits goes back to the broker as it was.
func TestLimitReleasesAtStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		block := make(chan struct{})
		h := func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(fmt.Sprintf("%s attempt %d", m.Value, m.Attempt()))
			select {
			case <-block:
			case <-ctx.Done():
				return wherry.Retry(context.Cause(ctx))
			}
			return wherry.Ack()
		}
		c := r.consume(h, middleware.Limit(1), wherry.Concurrency(2), wherry.DrainTime(time.Second),
			wherry.OnEvent(func(e wherry.Event) {
				switch e := e.(type) {
				case *wherry.Deferred, *wherry.Retried, *wherry.DeadLettered:
					t.Errorf("a message was moved: %T", e)
				}
			}))
		r.publish("a", "b")
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		err := wherry.Run(ctx, c)
		assert.True(t, err != nil, "a broker that was not emptied must be reported")
		assert.Equal(t, r.log.take(), []string{"a attempt 1 0s"})
		close(block)
		r.run(time.Second, c)
		assert.Equal(t, r.log.sorted(), []string{"a attempt 1 2s", "b attempt 1 2s"})
	})
}

func TestLimitMistakes(t *testing.T) {
	t.Parallel()
	assert.NoError(t, startError(t, middleware.Limit(1)))
	wantStartError(t, middleware.Limit(0), "limit: the number is 0, want at least 1")
}
