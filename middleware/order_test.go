package middleware_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// marking is a middleware of messages and batches that notes when it is passed, inwards and outwards.
func marking(j *journal, name string) (wherry.Middleware, wherry.BatchMiddleware) {
	return func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				j.add("> " + name)
				defer j.add("< " + name)
				return next(ctx, m)
			}
		}, func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				j.add("> " + name)
				defer j.add("< " + name)
				return next(ctx, b)
			}
		}
}

// The first listed is the outermost: in one option, over several, and between shipped ones, for messages and batches.
func TestOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a, batchA := marking(r.log, "a")
		b, batchB := marking(r.log, "b")
		c, batchC := marking(r.log, "c")
		d, batchD := marking(r.log, "d")
		audit := middleware.Audit(middleware.AuditFunc(func(context.Context, []middleware.AuditRecord) error {
			r.log.add("< audit")
			return nil
		}), middleware.AuditConfig{})
		dedup := middleware.Dedup(marks(), middleware.DedupConfig{Key: func(m wherry.AnyMessage) string {
			r.log.add("> dedup")
			return m.ID()
		}})
		want := []string{
			"> a", "> b", "> c", "> dedup", "> d", "handler", "< d", "< c", "< audit", "< b", "< a",
		}

		one := r.consume(func(context.Context, *wherry.Message[string]) wherry.Outcome {
			r.log.add("handler")
			return wherry.Ack()
		}, wherry.Use(a, b), audit, wherry.Use(c), dedup, wherry.Use(d))
		r.publish("one")
		r.run(time.Second, one)
		assert.Equal(t, r.log.take(), want)

		many := r.consumeBatch(func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome {
			r.log.add("handler")
			return wherry.Ack()
		}, wherry.UseBatch(batchA, batchB), audit, wherry.UseBatch(batchC), dedup, wherry.UseBatch(batchD))
		r.publish("two")
		r.run(time.Second, many)
		assert.Equal(t, r.log.take(), want)
	})
}

// Nothing about retries and dead letters depends on the order of options: there is one policy, and two are a mistake.
func TestFault18OnePolicyInAnyOrder(t *testing.T) {
	t.Parallel()
	options := func() []wherry.ConsumeOption {
		return []wherry.ConsumeOption{
			wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Second}, Jitter: wherry.NoJitter}),
			wherry.DeadLetterTo("orders.buried"),
			middleware.Timeout(time.Minute),
			middleware.Recover(func(_ context.Context, _ wherry.AnyMessage, p *wherry.PanicError) wherry.Outcome {
				return wherry.Retry(p)
			}),
			middleware.NewBreaker(middleware.BreakerConfig{InARow: 100}).Option(),
		}
	}
	n := len(options())
	for from := range n {
		for to := range from + 1 {
			t.Run(fmt.Sprint(from, to), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t)
					opts := options()
					opts[from], opts[to] = opts[to], opts[from]
					opts = append(opts, wherry.OnEvent(func(e wherry.Event) {
						if e, ok := e.(*wherry.DeadLettered); ok {
							r.note(fmt.Sprintf("%v after %d in %s", e.Reason, e.Attempts, e.To))
						}
					}))
					h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
						r.note(fmt.Sprint(m.Attempt()))
						return crash(errDown)
					}
					r.publish("a")
					r.run(10*time.Second, r.consume(h, opts...))
					assert.Equal(t, r.log.take(), []string{"1 0s", "2 1s", "3 2s", "exhausted after 3 in orders.buried 2s"})
				})
			})
		}
	}
}

func TestFault18ConflictFailsAtStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		policy := wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2})
		err := r.consume(r.noted, policy, middleware.Timeout(time.Second), policy).Run(t.Context())
		assert.True(t, err != nil, "two policies were accepted")
		assert.Equal(t, err.Error(), "wherry: consume orders: two retry policies: one replaces the other as a whole, "+
			"so that only one can be meant")
		err = r.consume(r.noted, wherry.NoDeadLetters(), middleware.Timeout(time.Second), wherry.DeadLetterTo("x")).Run(t.Context())
		assert.Equal(t, err.Error(), "wherry: consume orders: both NoDeadLetters and DeadLetterTo")
	})
}

// All of them together, over many lanes and two consumers, handle each message once.
func TestTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		const n = 500
		var p page
		var inside crowd
		var recorded atomic.Int64
		audit := middleware.AuditFunc(func(_ context.Context, rs []middleware.AuditRecord) error {
			recorded.Add(int64(len(rs)))
			return nil
		})
		opts := []wherry.ConsumerOption{
			middleware.Log(textLogger(&p, -8), -8), middleware.Audit(audit, middleware.AuditConfig{}),
			middleware.NewBreaker(middleware.BreakerConfig{}).Option(), middleware.Dedup(marks(), middleware.DedupConfig{}),
			middleware.Throttle(middleware.Rate{Messages: 1000}), middleware.Limit(3), middleware.Timeout(time.Second),
		}
		h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
			inside.enter()
			defer inside.leave()
			time.Sleep(time.Millisecond)
			return wherry.Ack()
		}
		mine := []wherry.ConsumeOption{wherry.Concurrency(8)}
		for _, o := range opts {
			mine = append(mine, o)
		}
		r.publish(numbers(n)...)
		r.publish(numbers(n)...) // the same ids again
		r.run(10*time.Second, r.consume(h, mine...), r.consume(h, mine...))
		assert.Equal(t, inside.all.Load(), n)
		assert.Equal(t, inside.most.Load(), 3)
		assert.True(t, recorded.Load() >= 2*n, "attempts without a record")
		assert.True(t, len(p.lines()) >= 2*n, "attempts without a line")
		assert.Equal(t, len(r.dead()), 0)
	})
}
