package wherry_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
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

// What was set in one batch is nothing to the next, whose messages have the same places.
func TestBatchForgetsTheBatchBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		first := func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, ab wherry.AnyBatch) wherry.Outcome {
				if m, ok := ab.At(0).(*wherry.Message[order]); ok && m.Value.ID == 0 {
					ab.Set(0, wherry.Reject(errors.New("known before")))
				}
				return next(ctx, ab)
			}
		}
		dead, _ := batchRun(t, b, func(context.Context, *wherry.MessageBatch[order]) wherry.Outcome {
			return wherry.Ack()
		}, wherry.UseBatch(first), wherry.BatchSize(2))
		wantInts(t, "dead letters", dead, []int{0})
	})
}

// A batch handler that ends its goroutine spends no attempt of what it never saw: that was too large, or came early, or could
// not be decoded.
func TestBatchGoexitSpendsNothingOfTheUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		sender, err := b.OpenSender(t.Context(), driver.Target{Topic: driver.Topic{Name: orders.Name()}})
		assert.NoError(t, err)
		due := time.Now().Add(45 * time.Second)
		assert.NoError(t, sender.Send(t.Context(), []driver.Record{
			{Body: []byte(`{"id":0}`)},
			{Body: []byte(`{"id":1,"text":"` + strings.Repeat("x", 1000) + `"}`)},
			{Body: []byte(`{"id":2}`), Control: driver.Control{Hold: &driver.HoldData{Due: driver.StampOf(due)}}},
			{Body: []byte(`{"id":`)},
			{Body: []byte(`{"id":4}`)},
		}))
		attempts := map[int][]int{}
		called := 0
		run := start(t, wherry.ConsumeBatch(wherry.Queue(b, orders), func(_ context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
			for _, m := range mb.All() {
				attempts[m.Value.ID] = append(attempts[m.Value.ID], m.Attempt())
				assert.True(t, m.Value.ID != 2 || !time.Now().Before(due), "it came early")
			}
			if called++; called < 3 {
				runtime.Goexit()
			}
			return wherry.Ack()
		}, wherry.BodyLimit(1000), wherry.BatchSize(5), wherry.BatchAge(5*time.Second),
			wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, First: 10 * time.Second, Factor: 1})))
		time.Sleep(time.Minute)
		run.mustEnd()
		assert.NoError(t, sender.Close(t.Context()))
		assert.Equal(t, attempts, map[int][]int{0: {1, 2, 3}, 2: {1}, 4: {1, 2, 3}})
		reasons := map[wherry.Reason]int{}
		for _, m := range collectDead(t, b, wherry.DeadLetters(orders)) {
			reasons[m.Value.Reason]++
			assert.Equal(t, m.Value.Attempts, 0)
		}
		assert.Equal(t, reasons, map[wherry.Reason]int{wherry.ReasonTooLarge: 1, wherry.ReasonUndecodable: 1})
	})
}
