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

// A sick store fails as its functions say, and is a memory store otherwise.
type sick struct {
	*middleware.MemoryStore
	claim  func(ctx context.Context) (middleware.Claim, error)
	finish func(ctx context.Context) error
}

func (s *sick) Claim(ctx context.Context, key, owner string, lease time.Duration) (middleware.Claim, error) {
	if s.claim != nil {
		return s.claim(ctx)
	}
	return s.MemoryStore.Claim(ctx, key, owner, lease)
}

func (s *sick) Finish(ctx context.Context, key, owner string, keep time.Duration) error {
	if s.finish != nil {
		return s.finish(ctx)
	}
	return s.MemoryStore.Finish(ctx, key, owner, keep)
}

// While the store fails, messages wait without losing attempts, or are handled all the same, as the option says.
func TestDedupStoreFails(t *testing.T) {
	t.Parallel()
	for _, anyway := range []bool{false, true} {
		t.Run(fmt.Sprintf("anyway=%v", anyway), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				s := &sick{MemoryStore: marks()}
				s.claim = func(context.Context) (middleware.Claim, error) {
					if r.sinceStart() < time.Minute {
						return 0, errStore
					}
					s.claim = nil
					return s.MemoryStore.Claim(t.Context(), "x", "y", 1)
				}
				errs := 0
				h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
					r.note(fmt.Sprintf("%s attempt %d", m.Value, m.Attempt()))
					return wherry.Ack()
				}
				r.publish("a")
				r.run(2*time.Minute, r.consume(h, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}),
					middleware.Dedup(s, middleware.DedupConfig{HandleAnyway: anyway, OnError: func(err error) {
						assert.ErrorIs(t, err, errStore)
						errs++
					}})))
				if anyway {
					assert.Equal(t, r.log.take(), []string{"a attempt 1 0s"})
					assert.Equal(t, errs, 1)
				} else {
					assert.Equal(t, r.log.take(), []string{"a attempt 1 1m0s"})
					assert.Equal(t, errs, 12) // every 5 s
				}
				assert.Equal(t, len(r.dead()), 0)
			})
		})
	}
}

// A store that says nothing is not understood as a permission, nor as a duplicate.
func TestDedupStoreSaysNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		calls := 0
		s := &sick{MemoryStore: marks()}
		s.claim = func(context.Context) (middleware.Claim, error) {
			calls++
			if calls == 1 {
				return 0, nil
			}
			return middleware.ClaimGranted, nil
		}
		r.publish("a")
		r.run(time.Minute, r.consume(r.noted, middleware.Dedup(s, middleware.DedupConfig{})))
		assert.Equal(t, r.log.take(), []string{"a 5s"})
	})
}

// The store is told the outcome with a context of its own, and when that fails, what was done stands.
func TestDedupFinishFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s := &sick{MemoryStore: marks()}
		s.finish = func(ctx context.Context) error {
			assert.NoError(t, ctx.Err())
			<-ctx.Done()
			return ctx.Err()
		}
		h := func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(m.Value)
			<-ctx.Done()
			return wherry.Ack()
		}
		c := r.consume(h, middleware.Dedup(s, middleware.DedupConfig{Lease: time.Minute, OnError: func(err error) {
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			r.note(err.Error())
		}}), wherry.HandlerTimeout(time.Second))
		r.publish("a")
		r.run(10*time.Second, c)
		assert.Equal(t, r.log.take(), []string{"a 0s", "middleware: dedup: finish: context deadline exceeded 6s"})
		assert.Equal(t, len(r.dead()), 0)
		// A duplicate is held off by the lease, and handled after it.
		s.finish = nil
		began := r.sinceStart()
		r.publish("a")
		r.run(2*time.Minute, c)
		assert.Equal(t, len(r.log.take()), 1)
		assert.True(t, r.sinceStart()-began >= 45*time.Second, "the lease was not respected")
	})
}

// An owner whose lease ended under it learns that another has the key, and does not disturb it.
func TestDedupLeaseTooShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s := marks()
		var later atomic.Bool
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(m.Value)
			if !later.Swap(true) {
				time.Sleep(15 * time.Second)
				return wherry.Ack()
			}
			time.Sleep(10 * time.Second)
			return wherry.Ack()
		}
		var lost atomic.Int64
		r.publish("a", "a")
		r.run(time.Minute, r.consume(h, wherry.Concurrency(2), middleware.Dedup(s, middleware.DedupConfig{
			Lease: 9 * time.Second, OnError: func(err error) {
				assert.ErrorIs(t, err, middleware.ErrClaimLost)
				lost.Add(1)
			},
		})))
		assert.Equal(t, r.log.take(), []string{"a 0s", "a 10s"})
		assert.Equal(t, lost.Load(), 1)
	})
}

// A store that hangs holds up the lane of a batch once, and not for each of its messages.
func TestDedupBatchFinishHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s := &sick{MemoryStore: marks()}
		s.finish = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		h := func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome {
			r.note("handled")
			return wherry.Ack()
		}
		settled := wherry.UseBatch(func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				defer r.note("settled")
				return next(ctx, b)
			}
		})
		errs := 0
		r.publish("a", "b", "c", "d")
		r.run(10*time.Second, r.consumeBatch(h, settled, wherry.BatchSize(4), middleware.Dedup(s, middleware.DedupConfig{
			OnError: func(error) { errs++ },
		})))
		assert.Equal(t, r.log.take(), []string{"handled 0s", "settled 5s"})
		assert.Equal(t, errs, 4)
	})
}

// In the order that the documentation recommends a message that was not recorded is handled again, and recorded.
func TestDedupOutsideOfAudit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		away := true
		sink := middleware.AuditFunc(func(_ context.Context, rs []middleware.AuditRecord) error {
			if away {
				away = false
				return errStore
			}
			r.note(rs[0].Outcome)
			return nil
		})
		r.publish("a")
		r.run(time.Minute, r.consume(r.noted, wherry.RetryWith(ladder),
			middleware.Dedup(marks(), middleware.DedupConfig{}), middleware.Audit(sink, middleware.AuditConfig{})))
		assert.Equal(t, r.log.take(), []string{"a 0s", "a 100ms", "ack 100ms"})
	})
}
