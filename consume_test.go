package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

func TestEachMessageIsHandledOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1, Text: "first"}, order{ID: 2})
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d %q attempt %d delivered %d %s", m.Value.ID, m.Value.Text, m.Attempt(), m.Delivered(), m.ContentType())
			return wherry.Ack()
		}))
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{
			`1 "first" attempt 1 delivered 1 application/json`, `2 "" attempt 1 delivered 1 application/json`,
		})
		r.mustEnd()
	})
}

func TestRetryLadderIsExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		began := time.Now()
		var seen calls
		var ev events
		policy := wherry.RetryPolicy{MaxAttempts: 4, Delays: []time.Duration{time.Second, 2 * time.Second}, Jitter: wherry.NoJitter}
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("attempt %d after %v", m.Attempt(), time.Since(began).Round(100*time.Millisecond))
			return wherry.Retry(fmt.Errorf("failure %d", m.Attempt()))
		}, wherry.RetryWith(policy), wherry.OnEvent(ev.record)))
		publish(t, b, orders, order{ID: 7})
		time.Sleep(time.Minute)
		assert.Equal(t, seen.all(), []string{
			"attempt 1 after 0s", "attempt 2 after 1s", "attempt 3 after 3s", "attempt 4 after 5s",
		})
		r.mustEnd()
		dead := collectDead(t, b, wherry.DeadLetters(orders))
		assert.Equal(t, len(dead), 1)
		d := dead[0].Value
		assert.Equal(t, fmt.Sprint(d.Value.ID, d.Reason, d.Attempts, d.FirstError, d.LastError, d.Topic),
			fmt.Sprint(7, wherry.ReasonExhausted, 4, "failure 1", "failure 4", "orders"))
		assert.Equal(t, len(eventsOf[*wherry.Retried](&ev)), 3)
	})
}

func TestOutcomesTakeTheirPaths(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3}, order{ID: 4}, order{ID: 5})
		began := time.Now()
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			at := time.Since(began).Round(time.Second)
			seen.add("%d/%d %v", m.Value.ID, m.Attempt(), at)
			switch {
			case m.Value.ID == 1:
				return wherry.Reject(errors.New("no"))
			case m.Value.ID == 2 && m.Attempt() == 1:
				return wherry.RetryAfter(10*time.Second, errors.New("later"))
			case m.Value.ID == 3 && at < 5*time.Second:
				return wherry.Defer(5 * time.Second)
			case m.Value.ID == 4 && m.Attempt() == 1:
				return wherry.Outcome{}
			case m.Value.ID == 5 && m.Attempt() == 1:
				panic("boom")
			}
			return wherry.Ack()
		}, wherry.RetryWith(wherry.RetryPolicy{First: time.Second, Jitter: wherry.NoJitter})))
		time.Sleep(time.Minute)
		assert.Equal(t, seen.all(), []string{
			"1/1 0s", "2/1 0s", "3/1 0s", "4/1 0s", "5/1 0s", "4/2 1s", "5/2 1s", "3/1 5s", "2/2 10s",
		})
		r.mustEnd()
		dead := collectDead(t, b, wherry.DeadLetters(orders))
		assert.Equal(t, len(dead), 1)
		assert.Equal(t, dead[0].Value.Reason, wherry.ReasonRejected)
	})
}

func TestContextOfAHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1})
		kept := make(chan context.Context, 1)
		began := time.Now()
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Attempt() > 1 {
				return wherry.Ack()
			}
			deadline, ok := ctx.Deadline()
			assert.True(t, ok, "the context has a deadline")
			assert.Equal(t, deadline.Sub(began), 3*time.Second)
			<-ctx.Done()
			assert.Equal(t, time.Since(began), 3*time.Second)
			assert.ErrorIs(t, context.Cause(ctx), wherry.ErrHandlerTimeout)
			kept <- ctx
			return wherry.Retry(context.Cause(ctx))
		}, wherry.HandlerTimeout(3*time.Second)))
		ctx := <-kept
		assert.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
		time.Sleep(time.Second)
		r.mustEnd()
	})
}

func TestBatchesFillOrAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		began := time.Now()
		var seen calls
		r := start(t, wherry.ConsumeBatch(wherry.Queue(b, orders), func(_ context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
			seen.add("%d at %v", mb.Len(), time.Since(began))
			for i, m := range mb.All() {
				if m.Value.ID == 2 && m.Attempt() == 1 {
					mb.Set(i, wherry.RetryAfter(time.Second, errors.New("one of them")))
				}
			}
			return wherry.Ack()
		}, wherry.BatchSize(3), wherry.BatchAge(100*time.Millisecond)))
		synctest.Wait()
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3}, order{ID: 4})
		time.Sleep(10 * time.Second)
		assert.Equal(t, seen.all(), []string{"3 at 0s", "1 at 100ms", "1 at 1.1s"})
		r.mustEnd()
	})
}

func TestPullReleasesWhatWasNotSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1}, order{ID: 2})
		var seen calls
		for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders)) {
			assert.NoError(t, err)
			seen.add("%d/%d", m.Value.ID, m.Attempt())
			if len(seen.all()) == 1 {
				continue // not settled
			}
			m.Settle(wherry.Ack())
			if len(seen.all()) == 3 {
				break
			}
		}
		assert.Equal(t, seen.all(), []string{"1/1", "2/1", "1/1"})
	})
}
