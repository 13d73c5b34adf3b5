package wherry_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

// batchRun consumes orders 0 to 3 in one batch, and returns the dead letters and what was told of retries.
func batchRun(tb testing.TB, b *mem.Broker, h wherry.BatchHandler[order], opts ...wherry.BatchOption) (dead, retried []int) {
	tb.Helper()
	publishOrders(tb, b, 4)
	var ev events
	opts = append([]wherry.BatchOption{
		wherry.BatchSize(4), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2, First: time.Second}), wherry.OnEvent(ev.record),
	}, opts...)
	run := start(tb, wherry.ConsumeBatch(wherry.Queue(b, orders), h, opts...))
	time.Sleep(time.Minute)
	run.mustEnd()
	for _, m := range collectDead(tb, b, wherry.DeadLetters(orders)) {
		dead = append(dead, m.Value.Value.ID)
	}
	for _, e := range eventsOf[*wherry.Retried](&ev) {
		retried = append(retried, e.Attempt)
	}
	return sorted(dead), retried
}

// A middleware that calls next again has the outcomes of the last call, and those that it gave itself.
func TestBatchCalledAgainForgetsTheFirstCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		again := func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, ab wherry.AnyBatch) wherry.Outcome {
				ab.Set(0, wherry.Reject(errors.New("known before")))
				if o := next(ctx, ab); o.Kind() == wherry.KindAck {
					return o
				}
				ab.Set(1, wherry.Reject(errors.New("known between")))
				return next(ctx, ab)
			}
		}
		called := 0
		dead, _ := batchRun(t, b, func(_ context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
			if called++; called > 1 {
				return wherry.Ack()
			}
			mb.Set(0, wherry.Ack())
			mb.Set(3, wherry.Reject(errors.New("of the first call")))
			return wherry.Retry(errors.New("not yet"))
		}, wherry.UseBatch(again, again))
		wantInts(t, "dead letters", dead, []int{0, 1})
	})
}

// With all skipped neither a middleware further in nor the handler is called.
func TestBatchOfNoneIsNotPassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		skip := func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, ab wherry.AnyBatch) wherry.Outcome {
				for ab.Len() > 0 {
					ab.Skip(0, wherry.Reject(errors.New("skipped")))
				}
				return next(ctx, ab)
			}
		}
		inner := func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, ab wherry.AnyBatch) wherry.Outcome {
				t.Errorf("a middleware was called with %d messages", ab.Len())
				return next(ctx, ab)
			}
		}
		dead, _ := batchRun(t, b, func(_ context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
			t.Errorf("the handler was called with %d messages", mb.Len())
			return wherry.Ack()
		}, wherry.UseBatch(skip, inner))
		wantInts(t, "dead letters", dead, upTo(4))
	})
}

// A batch handler that ends its goroutine: what it had set stands, and what it never saw is refused as ever.
func TestBatchGoexitKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		called := 0
		dead, retried := batchRun(t, b, func(_ context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
			if called++; called > 1 {
				return wherry.Ack()
			}
			mb.Set(0, wherry.Ack())
			mb.Set(1, wherry.Reject(errors.New("bad")))
			runtime.Goexit()
			return wherry.Ack()
		})
		wantInts(t, "dead letters", dead, []int{1})
		wantInts(t, "attempts that failed", retried, []int{1, 1})
	})
}
