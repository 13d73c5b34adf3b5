package timing_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Batches, while they are collected, handled and settled.
func TestBatches(t *testing.T) {
	t.Parallel()
	attack(t, "stop while one is collected", plain(), batchStoppedWhileCollected)
	attack(t, "stop while one is collected, on a broker that keeps", keeping(plain()), batchKeptWhileCollected)
	attack(t, "stop in the moment one is old enough", keeping(plain()), batchStoppedAtItsAge)
	attack(t, "pause and resume while one is collected", plain(), batchPausedWhileCollected)
	attack(t, "panic with half of the outcomes set, and stop", plain(), batchPanics)
	attack(t, "end the goroutine with half of the outcomes set, in the grace", keeping(plain()), batchGoexitInTheGrace)
	attack(t, "time out with half of the outcomes set", plain(), batchTimesOut)
	attack(t, "every outcome in one batch, and the link hangs", plain(), batchOfEverything)
	attack(t, "a tenure ends while one is collected, and the stop comes", plain(), batchRevokedWhileCollected)
	attack(t, "a tenure is lost under one of which some is set", plain(), batchLostInHand)
	attack(t, "close broker while a batch is in hand", plain(), batchBrokerClosed)
	attack(t, "close broker while a batch is settled slowly", plain(), batchBrokerClosedWhileSettling)
	attack(t, "dead letters of a whole batch are refused until the stop", keeping(queues(mem.Config{MaxDeadLetters: 2})), batchOfDeadLetters)
	attack(t, "abandon one in a group while another worker collects", plain(), batchAbandoned)
	attack(t, "what does not decode fills one, and the stop comes", plain(), batchUndecodable)
	attack(t, "without delays, half of each fails, and restarts", keeping(undelayed()), batchUndelayed)
}

// batches is a consumer of batches of up to ten, at most a minute old.
func (b *book) batches(h wherry.BatchHandler[item], opts ...wherry.BatchOption) *wherry.Consumer {
	opts = append([]wherry.BatchOption{wherry.BatchSize(10), wherry.BatchAge(time.Minute)}, opts...)
	return wherry.ConsumeBatch(wherry.Queue(b.w.broker, b.topic), b.batch(h), opts...)
}

func ackBatch(context.Context, *wherry.MessageBatch[item]) wherry.Outcome { return wherry.Ack() }

// batchTakes works for d, if it may.
func batchTakes(d time.Duration) wherry.BatchHandler[item] {
	return func(ctx context.Context, _ *wherry.MessageBatch[item]) wherry.Outcome {
		if err := wait(ctx, d); err != nil {
			return wherry.Retry(err)
		}
		return wherry.Ack()
	}
}

func batchStoppedWhileCollected(w *world) {
	b := w.book("q")
	b.exact = true
	r := w.start(b.batches(batchTakes(time.Second)))
	b.publish(series(3, "a")...)
	time.Sleep(5 * time.Second)
	began := time.Now()
	r.mustEnd()
	assert.Equal(w, b.acks(), 3)
	assert.True(w, time.Since(began) < 1100*time.Millisecond, "it is not waited for until it is full")
}

func batchKeptWhileCollected(w *world) {
	b := w.book("q")
	b.exact = true
	r := w.start(b.batches(batchTakes(time.Second)))
	b.publish(series(3, "a")...)
	time.Sleep(5 * time.Second)
	began := time.Now()
	r.mustEnd()
	assert.Equal(w, time.Since(began), 0*time.Second)
	assert.Equal(w, b.waits(), 3)
}

func batchStoppedAtItsAge(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	c := b.batches(ackBatch, wherry.BatchAge(5*time.Second))
	for range 5 {
		r := w.start(c)
		time.Sleep(5 * time.Second) // exactly
		r.mustEnd()
	}
	assert.Equal(w, b.acks()+b.waits(), 3)
}

func batchPausedWhileCollected(w *world) {
	b := w.book("q")
	b.exact = true
	c := b.batches(ackBatch)
	r := w.start(c)
	b.publish(series(5, "a")...)
	time.Sleep(10 * time.Second)
	resume := c.Pause("while it is collected")
	time.Sleep(2 * time.Minute)
	assert.Equal(w, b.seen(), "")
	b.publish(series(5, "b")...)
	resume()
	time.Sleep(time.Second)
	assert.Equal(w, b.acks(), 10) // one batch of ten
	r.mustEnd()
}

func batchPanics(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.exact, b.attempts = true, 3
	b.publish(series(25, "a")...)
	r := w.start(b.batches(func(ctx context.Context, mb *wherry.MessageBatch[item]) wherry.Outcome {
		_ = wait(ctx, 2*time.Second)
		for i, m := range mb.All() {
			switch m.Value.N % 5 {
			case 0:
				mb.Set(i, wherry.Ack())
			case 1:
				mb.Set(i, wherry.Reject(errTry))
			case 2:
				if m.Attempt() < 3 {
					panic("halfway")
				}
			}
		}
		return wherry.Ack()
	}, wherry.BatchAge(0)))
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.waits(), 0)
	assert.Equal(w, b.acks()+b.letters(), 25)
	assert.True(w, b.acks() >= 5, "what was set before the panic stands")
}

func batchGoexitInTheGrace(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(10, "a")...)
	ends := true
	c := b.batches(func(ctx context.Context, mb *wherry.MessageBatch[item]) wherry.Outcome {
		for i, m := range mb.All() {
			assert.Equal(w, m.Attempt(), 1)
			if m.Value.N < 4 {
				mb.Set(i, wherry.Ack())
			}
		}
		if ends {
			<-ctx.Done()
			runtime.Goexit()
		}
		return wherry.Ack()
	}, wherry.DrainTime(time.Second))
	r := w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 4)
	assert.Equal(w, b.waits(), 6)
	ends = false
	r = w.start(c)
	time.Sleep(2 * time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
}

func batchTimesOut(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.exact, b.attempts = true, 3
	b.publish(series(20, "a")...)
	r := w.start(b.batches(func(ctx context.Context, mb *wherry.MessageBatch[item]) wherry.Outcome {
		for i, m := range mb.All() {
			if m.Value.N%2 == 0 {
				mb.Set(i, wherry.Ack())
			}
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), wherry.ErrHandlerTimeout) {
			w.Errorf("the context of a batch ended: %v", context.Cause(ctx))
		}
		return wherry.Retry(context.Cause(ctx))
	}, wherry.HandlerTimeout(2*time.Second), wherry.BatchAge(0)))
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.letters(), 10)
}

func batchOfEverything(w *world) {
	b := w.book("q", steadily(2, time.Second))
	b.attempts = 2
	b.publish(series(10, "a")...)
	r := w.start(b.batches(func(ctx context.Context, mb *wherry.MessageBatch[item]) wherry.Outcome {
		_ = wait(ctx, time.Second)
		outcomes := []wherry.Outcome{
			wherry.Ack(), wherry.Reject(errTry), wherry.Retry(errTry), wherry.Defer(time.Second), wherry.RetryAfter(0, nil),
		}
		for i, m := range mb.All() {
			if o := outcomes[m.Value.N%5]; m.Attempt() == 1 && m.Published().Add(5*time.Second).After(time.Now()) {
				mb.Set(i, o)
			}
		}
		return wherry.Ack()
	}))
	time.Sleep(500 * time.Millisecond)
	w.faults().Disconnect(mem.SoftCut)
	time.Sleep(3 * time.Second)
	w.faults().Reconnect()
	time.Sleep(5 * time.Minute)
	r.mustEnd()
	assert.Equal(w, b.waits(), 0)
	assert.Equal(w, b.acks(), 8)
	assert.Equal(w, b.letters() >= 2, true)
}

func batchRevokedWhileCollected(w *world) {
	b := w.book("q")
	b.exact = true
	r := w.start(b.batches(ackBatch))
	for n, left := range []time.Duration{0, time.Second, 0, 5 * time.Second} {
		b.publish(series(4, string(rune('a'+n)))...)
		time.Sleep(time.Second)
		w.faults().Revoke("q", left)
		time.Sleep(time.Second)
	}
	w.faults().Revoke("q", time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 16)
}

func batchLostInHand(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.attempts = 3
	b.publish(series(10, "a")...)
	var calls atomic.Int64
	r := w.start(b.batches(func(ctx context.Context, mb *wherry.MessageBatch[item]) wherry.Outcome {
		first := calls.Add(1) == 1
		for i, m := range mb.All() {
			assert.Equal(w, m.Attempt(), 1)
			if first && m.Value.N%2 == 0 {
				mb.Set(i, wherry.Reject(errTry))
			}
		}
		if first {
			<-ctx.Done()
			assert.ErrorIs(w, context.Cause(ctx), wherry.ErrRevoked)
			return wherry.Retry(context.Cause(ctx))
		}
		return wherry.Ack()
	}))
	time.Sleep(time.Second)
	w.faults().Revoke("q", 0)
	time.Sleep(2 * time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.letters(), 0)
}

func batchBrokerClosed(w *world) {
	b := w.book("q")
	b.publish(series(25, "a")...)
	r := w.start(b.batches(batchTakes(2*time.Second), wherry.Workers(2), wherry.BatchAge(0)))
	time.Sleep(3 * time.Second)
	w.closeBroker()
	assert.ErrorIs(w, r.wait(), wherry.ErrClosed)
}

func batchBrokerClosedWhileSettling(w *world) {
	b := w.book("q")
	b.publish(series(10, "a")...)
	w.faults().SlowSettle("q", 5*time.Second)
	r := w.start(b.batches(func(_ context.Context, mb *wherry.MessageBatch[item]) wherry.Outcome {
		mb.Set(3, wherry.Retry(errTry))
		mb.Set(4, wherry.Reject(errTry))
		return wherry.Ack()
	}))
	time.Sleep(2 * time.Second)
	w.closeBroker()
	assert.ErrorIs(w, r.wait(), wherry.ErrClosed)
}

func batchOfDeadLetters(w *world) {
	w.within = 5*time.Second + 2*grace
	b := w.book("q")
	b.exact = true
	b.publish(series(10, "a")...)
	c := b.batches(func(context.Context, *wherry.MessageBatch[item]) wherry.Outcome {
		return wherry.Reject(errTry)
	}, wherry.DrainTime(5*time.Second))
	r := w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.letters(), 2)
	assert.Equal(w, b.waits(), 8)
}

func batchAbandoned(w *world) {
	w.within = 2*time.Second + 2*grace
	t := fanout("f", "g")
	b := w.groupBook("g", t)
	b.publish(series(10, "a")...)
	let := make(chan struct{})
	r := w.start(wherry.ConsumeBatch(wherry.Group(w.broker, "g", t), b.batch(
		func(context.Context, *wherry.MessageBatch[item]) wherry.Outcome {
			<-let
			return wherry.Ack()
		}), wherry.BatchSize(10), wherry.BatchAge(time.Minute), wherry.Workers(2), wherry.DrainTime(2*time.Second)))
	time.Sleep(time.Second)
	b.publish(series(3, "b")...)
	time.Sleep(time.Second)
	err := r.end()
	left, ok := errors.AsType[*wherry.AbandonedError](err)
	assert.True(w, ok && left.Handlers >= 1, "handlers are abandoned")
	close(let)
	time.Sleep(time.Second)
	assert.Equal(w, b.waits(), 13)
}

func batchUndecodable(w *world) {
	b := w.book("q")
	b.exact = true
	r := w.start(b.batches(ackBatch))
	b.publish(series(3, "a")...)
	for range 6 {
		assert.NoError(w, w.faults().Inject("q", driver.Record{Body: []byte("[")}))
	}
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 3)
	assert.Equal(w, b.letters(), 6)
}

func batchUndelayed(w *world) {
	b := w.book("q", steadily(4, time.Second))
	b.exact, b.attempts = true, 4
	b.publish(series(40, "a")...)
	c := b.batches(func(ctx context.Context, mb *wherry.MessageBatch[item]) wherry.Outcome {
		if err := wait(ctx, 300*time.Millisecond); err != nil {
			return wherry.Retry(err)
		}
		for i, m := range mb.All() {
			if m.Attempt() <= m.Value.N%4 {
				mb.Set(i, wherry.Retry(errTry))
			}
		}
		return wherry.Ack()
	}, wherry.BatchAge(100*time.Millisecond), wherry.DrainTime(100*time.Millisecond))
	for range 10 {
		r := w.start(c)
		time.Sleep(700 * time.Millisecond)
		r.mustEnd()
	}
	r := w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 40)
}
