package wherry_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// A stop neither cancels a handler at work nor takes its publisher away.
func TestFault2HandlerWorksThroughTheDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		out := wherry.NewTopic("out", orders2{})
		p, err := wherry.NewPublisher(t.Context(), b, out)
		assert.NoError(t, err)
		publish(t, b, orders, order{ID: 1})
		var alive atomic.Bool
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
			}
			alive.Store(ctx.Err() == nil)
			if err := p.Publish(ctx, &m.Value); err != nil {
				return wherry.Retry(err)
			}
			return wherry.Ack()
		}, wherry.DrainTime(2*time.Second)))
		time.Sleep(50 * time.Millisecond)
		began := time.Now()
		r.mustEnd()
		assert.True(t, alive.Load(), "the context lives until the handler returned")
		assert.True(t, time.Since(began) < time.Second, "Run returned when the handler did")
		var seen calls
		next := start(t, wherry.Consume(wherry.Queue(b, out), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Value.ID)
			return wherry.Ack()
		}))
		synctest.Wait()
		next.mustEnd()
		assert.Equal(t, seen.all(), []string{"1"})
		assert.Equal(t, depthOf(t, b, "orders"), 0)
	})
}

// orders2 is the codec of order once more, so that a test does without a second type.
type orders2 struct{ jsonOrders }

// Close returns after the handlers, and past the deadline says how many it left.
func TestFault11RunCountsWhatItLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1})
		release := make(chan struct{})
		var ev events
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			<-release // whatever its context says
			return wherry.Ack()
		}, wherry.DrainTime(3*time.Second), wherry.GraceTime(time.Second), wherry.OnEvent(ev.record)))
		synctest.Wait()
		began := time.Now()
		err := r.end()
		assert.Equal(t, time.Since(began), 4*time.Second)
		var left *wherry.AbandonedError
		assert.True(t, errors.As(err, &left), "an AbandonedError")
		assert.Equal(t, *left, wherry.AbandonedError{Handlers: 1})
		abandoned := eventsOf[*wherry.Abandoned](&ev)
		assert.Equal(t, len(abandoned), 1)
		assert.True(t, strings.Contains(abandoned[0].Stack, "TestFault11"), "the stack of the handler is named")
		assert.Equal(t, depthOf(t, b, "orders"), 1) // back at the broker
		close(release)
		synctest.Wait()
		assert.Equal(t, len(eventsOf[*wherry.SettleFailed](&ev)), 1) // its outcome came too late, and is reported
		assert.Equal(t, depthOf(t, b, "orders"), 1)
	})
}

// A retry that a handler returns because the drain ended its context is no attempt.
func TestFault12StopCostsNoAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1})
		var seen calls
		consumer := wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("attempt %d delivered %d", m.Attempt(), m.Delivered())
			if len(seen.all()) == 1 {
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), wherry.ErrDraining)
				return wherry.Retry(context.Cause(ctx))
			}
			return wherry.Retry(errors.New("a real error"))
		}, wherry.DrainTime(time.Second), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}))
		r := start(t, consumer)
		synctest.Wait()
		err := r.end()
		var left *wherry.AbandonedError
		assert.True(t, errors.As(err, &left) && left.Handlers == 0 && left.Left == 1, "the released message is counted")
		again := start(t, consumer)
		synctest.Wait()
		again.mustEnd()
		assert.Equal(t, seen.all(), []string{"attempt 1 delivered 1", "attempt 1 delivered 1"})
		dead := collectDead(t, b, wherry.DeadLetters(orders))
		assert.Equal(t, len(dead), 1)
		assert.Equal(t, dead[0].Value.Attempts, 1)
		assert.Equal(t, dead[0].Value.LastError, "a real error")
	})
}

// The in-process broker is emptied before a stop, what handlers publish to each other included.
func TestStopEmptiesTheBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		second := wherry.NewTopic("second", orders2{})
		p, err := wherry.NewPublisher(t.Context(), b, second)
		assert.NoError(t, err)
		var ends atomic.Int64
		first := wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			time.Sleep(10 * time.Millisecond)
			if m.Attempt() == 1 && m.Value.ID%3 == 0 {
				return wherry.Retry(errors.New("once"))
			}
			if err := p.Publish(ctx, &m.Value); err != nil {
				return wherry.Retry(err)
			}
			return wherry.Ack()
		})
		last := wherry.ConsumeBatch(wherry.Queue(b, second), func(_ context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
			ends.Add(int64(mb.Len()))
			return wherry.Ack()
		})
		for i := range 100 {
			publish(t, b, orders, order{ID: i})
		}
		r := start(t, first, last)
		time.Sleep(25 * time.Millisecond)
		r.mustEnd()
		assert.Equal(t, ends.Load(), int64(100))
	})
}

func TestRunTwiceAndTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		c := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() })
		r := start(t, c)
		synctest.Wait()
		assert.ErrorIs(t, wherry.Run(t.Context(), c), wherry.ErrAlreadyRunning)
		r.mustEnd()
		again := start(t, c)
		publish(t, b, orders, order{ID: 1})
		synctest.Wait()
		again.mustEnd()
		assert.Equal(t, c.Health().Handled, uint64(1))
		assert.Equal(t, c.Health().State, wherry.StateStopped)
	})
}

func TestRunReportsAllMistakesTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which ends only when nothing was left running
		b := newMem(t)
		bad := wherry.NewTopic("", orders2{}, wherry.BodyLimit(-1))
		h := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
		err := wherry.Run(t.Context(),
			wherry.Consume(wherry.Queue(b, orders), h),
			wherry.Consume(wherry.Queue(b, bad), h, wherry.Workers(0), wherry.Concurrency(-2)),
			wherry.Consume(wherry.Queue(b, orders), nil),
			wherry.Consume(wherry.Group(b, "g", orders), h),
			wherry.Consume(wherry.Queue(b, orders), h,
				wherry.RetryWith(wherry.RetryPolicy{}), wherry.RetryWith(wherry.RetryPolicy{})),
			nil,
		)
		for _, part := range []string{
			"name: it is empty", "body limit is -1", "workers is 0", "concurrency is -2", "handler is nil", "declare it with Fanout",
			"two retry policies", "runner 6 is nil",
		} {
			assert.True(t, strings.Contains(err.Error(), part), "the error names: "+part+"\n"+err.Error())
		}
	})
}

// A stop that comes before the first message empties the broker all the same.
func TestEarlyStopEmptiesTheBroker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1}, order{ID: 2})
		var seen calls
		c := wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Value.ID)
			return wherry.Ack()
		})
		ctx, stop := context.WithCancel(t.Context())
		run, err := c.Prepare(ctx)
		assert.NoError(t, err)
		stop()
		assert.NoError(t, run(ctx))
		assert.Equal(t, seen.all(), []string{"1", "2"})
	})
}

// plainRunner has no Prepare.
type plainRunner struct{ runs *atomic.Int64 }

func (r plainRunner) Run(context.Context) error {
	r.runs.Add(1)
	return nil
}

// When one runner cannot be prepared none is started, whatever it can.
func TestNothingStartsWhenOneCannot(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	publish(t, b, orders, order{ID: 1})
	var runs atomic.Int64
	good := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
		runs.Add(1)
		return wherry.Ack()
	})
	err := wherry.Run(t.Context(), plainRunner{&runs}, good, wherry.Consume(wherry.Queue(b, orders), nil))
	assert.True(t, err != nil, "the mistake is reported")
	assert.Equal(t, runs.Load(), int64(0))
	assert.Equal(t, depthOf(t, b, "orders"), 1)
}
