package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// ladder is a policy whose delays can be told apart from everything else.
var ladder = wherry.RetryPolicy{
	MaxAttempts: 4, Jitter: wherry.NoJitter,
	Delays: []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, 900 * time.Millisecond},
}

// Each attempt has a context of its own, and delays equal the policy, looked at or not.
func TestFault17EachAttemptHasItsOwnDeadline(t *testing.T) {
	t.Parallel()
	for _, looked := range []bool{false, true} {
		t.Run(fmt.Sprintf("looked=%v", looked), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				h := func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
					assert.NoError(t, ctx.Err())
					deadline, ok := ctx.Deadline()
					assert.True(t, ok, "no deadline")
					assert.Equal(t, time.Until(deadline), 20*time.Millisecond)
					r.note(fmt.Sprint(m.Attempt()))
					<-ctx.Done()
					assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
					assert.ErrorIs(t, context.Cause(ctx), middleware.ErrTimeout)
					return wherry.Retry(context.Cause(ctx))
				}
				opts := []wherry.ConsumeOption{middleware.Timeout(20 * time.Millisecond), wherry.RetryWith(ladder)}
				if looked {
					opts = append(opts, wherry.OnEvent(func(e wherry.Event) {
						if e, ok := e.(*wherry.Retried); ok {
							assert.Equal(t, e.Delay, ladder.Delays[e.Attempt-1])
						}
					}))
				}
				r.publish("a")
				r.run(5*time.Second, r.consume(h, opts...))
				assert.Equal(t, r.log.take(), []string{"1 0s", "2 120ms", "3 440ms", "4 1.36s"})
				letters := r.dead()
				assert.Equal(t, len(letters), 1)
				assert.Equal(t, letters[0].Attempts, 4)
				assert.Equal(t, letters[0].LastError, "middleware: timeout of 20ms")
			})
		})
	}
}

// The copy to the dead letters is not made under the deadline that the handler used up.
func TestFault3DeadLetterAfterDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome {
			<-ctx.Done()
			return wherry.Reject(ctx.Err())
		}
		r.publish("a", "b")
		r.run(time.Second, r.consume(h, middleware.Timeout(10*time.Millisecond)))
		letters := r.dead()
		assert.Equal(t, len(letters), 2)
		for _, l := range letters {
			assert.Equal(t, l.Reason, wherry.ReasonRejected)
			assert.Equal(t, l.LastError, "context deadline exceeded")
		}
	})
}

func TestTimeoutLeavesTheOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
			time.Sleep(time.Second) // deaf to its context
			r.note("done")
			return wherry.Ack()
		}
		r.publish("a")
		r.run(5*time.Second, r.consume(h, middleware.Timeout(10*time.Millisecond)))
		assert.Equal(t, r.log.take(), []string{"done 1s"})
		assert.Equal(t, len(r.dead()), 0)
	})
}

func TestTimeoutContextEndsWithTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var kept context.Context
		h := func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome {
			kept = ctx //nolint:fatcontext // What a handler must not do is what is tested.
			return wherry.Ack()
		}
		r.publish("a")
		r.run(time.Millisecond, r.consume(h, middleware.Timeout(time.Hour)))
		assert.ErrorIs(t, kept.Err(), context.Canceled)
	})
}

func TestTimeoutOfBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		calls := 0
		h := func(ctx context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			calls++
			assert.NoError(t, ctx.Err())
			if calls > 1 {
				return wherry.Ack()
			}
			assert.Equal(t, b.Len(), 3)
			<-ctx.Done()
			assert.ErrorIs(t, context.Cause(ctx), middleware.ErrTimeout)
			return wherry.Retry(ctx.Err())
		}
		r.publish("a", "b", "c")
		r.run(5*time.Second, r.consumeBatch(h, middleware.Timeout(20*time.Millisecond)))
		assert.True(t, calls > 1, "the batch did not come again")
		assert.Equal(t, len(r.dead()), 0)
	})
}

func TestTimeoutMistakes(t *testing.T) {
	t.Parallel()
	assert.NoError(t, startError(t, middleware.Timeout(1)))
	wantStartError(t, middleware.Timeout(0), "timeout: the time is 0s, want more than 0")
	wantStartError(t, middleware.Timeout(-time.Second), "timeout: the time is -1s, want more than 0")
}

// An outer deadline that is shorter wins.
func TestTimeoutNested(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome {
			<-ctx.Done()
			r.note(context.Cause(ctx).Error())
			return wherry.Reject(errors.New("late"))
		}
		r.publish("a")
		r.run(time.Second, r.consume(h, middleware.Timeout(50*time.Millisecond), middleware.Timeout(time.Minute)))
		assert.Equal(t, r.log.take(), []string{"middleware: timeout of 50ms 50ms"})
	})
}
