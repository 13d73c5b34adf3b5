package timing_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Stops of a queue's consumer in each of its phases.
func TestQueueStops(t *testing.T) {
	t.Parallel()
	attack(t, "before it has begun", plain(), stopBeforeItHasBegun)
	attack(t, "while a receiver is being opened", watched(plain()), stopWhileOpening)
	attack(t, "while it waits in an empty queue", keeping(plain()), stopWhileReceiving)
	attack(t, "while every lane handles and the buffer is full", keeping(plain()), stopWhileEveryLaneHandles)
	attack(t, "while a settlement is on its way", plain(), stopWhileSettling)
	attack(t, "while a retry waits at the broker", plain(), stopWhileARetryWaits)
	attack(t, "while a retry waits at a broker that keeps it", keeping(plain()), stopWhileARetryIsKept)
	attack(t, "in the moment a retry becomes due at the end of the drain", plain(), stopAsARetryBecomesDue)
	attack(t, "in the moment a handler times out", keeping(plain()), stopAsAHandlerTimesOut)
	attack(t, "panic in the drain", plain(), panicInTheDrain)
	attack(t, "end a handler's goroutine in the grace", keeping(plain()), goexitInTheGrace)
	attack(t, "reject in the grace", keeping(plain()), rejectInTheGrace)
	attack(t, "defer in the grace", keeping(plain()), deferInTheGrace)
	attack(t, "abandon a handler whose answer comes in the next run", keeping(plain()), answerInTheNextRun)
	attack(t, "abandon a handler while another process has its message", keeping(plain()), abandonedBesideAnother)
	attack(t, "thirty times in the middle of the same messages", keeping(plain()), stopThirtyTimes)
	attack(t, "run again from its own handler", plain(), runFromItsOwnHandler)
	attack(t, "without drain time and without grace", keeping(plain()), stopWithoutTime)
	attack(t, "while a handler publishes to its own full queue", queues(mem.Config{MaxMessages: 4}), stopWhilePublishingToItself)
	attack(t, "while two consumers send each other everything back", plain(), stopInACircle)
}

func stopBeforeItHasBegun(w *world) {
	b := w.book("q")
	b.publish(series(5, "a")...)
	ctx, stop := context.WithCancel(w.Context())
	stop()
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(ack))
	assert.NoError(w, wherry.Run(ctx, c))
	assert.Equal(w, b.seen(), "")
	assert.Equal(w, c.Health().State == wherry.StateRunning, false)
	r := w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 5)
}

func stopWhileOpening(w *world) {
	b := w.book("q")
	b.publish(series(5, "a")...)
	w.stand.opening(func(ctx context.Context) error { return wait(ctx, time.Hour) })
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(ack)))
	time.Sleep(time.Second)
	began := time.Now()
	r.mustEnd()
	assert.Equal(w, time.Since(began), 0*time.Second)
	assert.Equal(w, b.seen(), "")
	w.stand.opening(nil)
}

func stopWhileReceiving(w *world) {
	b := w.book("q")
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(ack), wherry.Workers(3), wherry.Concurrency(5)))
	time.Sleep(time.Minute)
	began := time.Now()
	r.mustEnd()
	assert.Equal(w, time.Since(began), 0*time.Second)
	b.publish(series(3, "a")...)
}

func stopWhileEveryLaneHandles(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(100, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(10*time.Second)),
		wherry.Concurrency(7), wherry.Prefetch(50)))
	time.Sleep(time.Second)
	began := time.Now()
	r.mustEnd()
	assert.Equal(w, time.Since(began), 9*time.Second)
	assert.Equal(w, b.acks(), 7)
	assert.Equal(w, b.waits(), 93)
}

func stopWhileSettling(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(20, "a")...)
	w.faults().SlowSettle("q", 3*time.Second)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)), wherry.Concurrency(4)))
	time.Sleep(1500 * time.Millisecond) // of the first four
	r.mustEnd()
	assert.Equal(w, b.acks(), 20)
}

func stopWhileARetryWaits(w *world) {
	b := w.book("q", steadily(3, 10*time.Second))
	b.exact, b.attempts = true, 3
	b.publish(series(10, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(fails(2))))
	time.Sleep(time.Second)
	r.mustEnd() // which empties the broker: 19 s
	assert.Equal(w, b.acks(), 10)
}

func stopWhileARetryIsKept(w *world) {
	b := w.book("q", steadily(3, 10*time.Second))
	b.exact, b.attempts = true, 3
	b.publish(series(10, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(fails(2)))
	for range 3 {
		r := w.start(c)
		time.Sleep(time.Second)
		began := time.Now()
		r.mustEnd()
		assert.Equal(w, time.Since(began), 0*time.Second)
		time.Sleep(20 * time.Second)
	}
	assert.Equal(w, b.acks(), 10)
}

func stopAsARetryBecomesDue(w *world) {
	b := w.book("q", steadily(5, 5*time.Second))
	b.exact = true
	b.publish(series(10, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(fails(1)), wherry.DrainTime(4999*time.Millisecond)))
	time.Sleep(time.Millisecond)
	r.endAnyhow()
	assert.Equal(w, b.acks()+b.waits(), 10)
}

func stopAsAHandlerTimesOut(w *world) {
	b := w.book("q", steadily(5, time.Second))
	b.publish(series(4, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Hour)),
		wherry.Concurrency(4), wherry.HandlerTimeout(3*time.Second), wherry.DrainTime(2*time.Second))
	r := w.start(c)
	time.Sleep(time.Second) // so that the drain ends as they time out
	began := time.Now()
	r.mustEnd()
	assert.True(w, time.Since(began) <= 2*time.Second+5*time.Millisecond, time.Since(began).String())
	assert.Equal(w, b.waits(), 4)
}

func panicInTheDrain(w *world) {
	b := w.book("q", steadily(5, time.Second))
	b.exact = true
	b.publish(series(8, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
			time.Sleep(2 * time.Second)
			if m.Attempt() < 3 {
				panic("in the drain")
			}
			return wherry.Ack()
		}), wherry.Concurrency(8)))
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 8)
}

func goexitInTheGrace(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	ends := true
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			assert.Equal(w, m.Attempt(), 1)
			if ends {
				<-ctx.Done()
				runtime.Goexit()
			}
			return wherry.Ack()
		}), wherry.Concurrency(3), wherry.DrainTime(time.Second))
	r := w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.waits(), 3)
	ends = false
	r = w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 3)
}

func rejectInTheGrace(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(5, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
			<-ctx.Done()
			time.Sleep(grace / 2)
			return wherry.Reject(context.Cause(ctx))
		}), wherry.Concurrency(5), wherry.DrainTime(time.Second)))
	time.Sleep(time.Second)
	w.faults().FailSend("q.dlq", 1, nil) // the first try, within the grace
	r.mustEnd()
	assert.Equal(w, b.letters(), 5)
}

func deferInTheGrace(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(5, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			assert.Equal(w, m.Attempt(), 1)
			<-ctx.Done()
			return wherry.Defer(time.Hour)
		}), wherry.Concurrency(5), wherry.DrainTime(0))
	r := w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.waits(), 5)
	r = w.start(c)
	time.Sleep(time.Minute) // none is due
	r.mustEnd()
	assert.Equal(w, len(strings.Fields(b.seen())), 5)
}

func answerInTheNextRun(w *world) {
	b := w.book("q")
	b.publish(series(1, "a")...)
	var ev listener
	let := make(chan struct{})
	var calls atomic.Int64
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
			assert.Equal(w, m.Attempt(), 1)
			if calls.Add(1) == 1 {
				<-let
				return wherry.Reject(errTry)
			}
			return wherry.Defer(time.Second)
		}), wherry.DrainTime(time.Second), wherry.OnEvent(ev.hear))
	r := w.start(c)
	time.Sleep(time.Second)
	r.endLeaving(1, 0)
	r = w.start(c)
	time.Sleep(100 * time.Millisecond)
	close(let) // while the message waits for its second delivery
	time.Sleep(100 * time.Millisecond)
	assert.Equal(w, b.letters(), 0)
	assert.Equal(w, b.waits(), 1)
	late := 0
	for _, e := range heard[*wherry.SettleFailed](&ev) {
		if errors.Is(e.Err, wherry.ErrRevoked) {
			late++
		}
	}
	assert.Equal(w, late, 1)
	r.mustEnd()
}

func abandonedBesideAnother(w *world) {
	b := w.book("q")
	b.publish(series(3, "a")...)
	let := make(chan struct{})
	one := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(context.Context, *wherry.Message[item]) wherry.Outcome {
			<-let
			return wherry.Reject(errTry)
		}), wherry.Concurrency(3), wherry.DrainTime(time.Second)))
	time.Sleep(time.Second)
	two := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(5*time.Second)), wherry.Concurrency(3)))
	one.endLeaving(3, 0)
	time.Sleep(time.Second) // the other has them now
	close(let)
	time.Sleep(10 * time.Second)
	two.mustEnd()
	assert.Equal(w, b.letters(), 0)
	assert.Equal(w, b.acks(), 3)
}

func stopThirtyTimes(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(20, "a")...)
	stopping := true
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			assert.Equal(w, m.Attempt(), 1)
			if stopping {
				<-ctx.Done()
				return wherry.Retry(context.Cause(ctx))
			}
			return wherry.Ack()
		}), wherry.Concurrency(3), wherry.DrainTime(time.Second))
	for range 30 { // which is more than MaxDelivered
		r := w.start(c)
		time.Sleep(time.Second)
		r.mustEnd()
	}
	stopping = false
	r := w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 20)
}

func runFromItsOwnHandler(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	var c *wherry.Consumer
	c = wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
			assert.ErrorIs(w, c.Run(ctx), wherry.ErrAlreadyRunning)
			return wherry.Ack()
		}))
	r := w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 3)
}

func stopWithoutTime(w *world) {
	w.within = time.Second
	b := w.book("q")
	b.publish(series(30, "a")...)
	let := make(chan struct{})
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
			if m.Value.N%2 == 0 {
				<-let
			}
			return wherry.Retry(errTry)
		}), wherry.Concurrency(4), wherry.DrainTime(0), wherry.GraceTime(0)))
	time.Sleep(10 * time.Millisecond)
	r.endLeaving(4, 0)
	close(let)
}

func stopWhilePublishingToItself(w *world) {
	b := w.book("q")
	b.exact = true
	p, err := wherry.NewPublisher(w.Context(), w.broker, b.topic, wherry.PublishTimeout(time.Second))
	assert.NoError(w, err)
	b.publish(item{"a", 0})
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			if m.Value.Key != "a" {
				return wherry.Ack()
			}
			for n := range 20 { // of which four find room, and the one lane is busy here
				it := item{fmt.Sprint("from ", m.Attempt(), "-"), n}
				switch err := p.Publish(ctx, &it); {
				case err == nil:
					b.note(it, true)
				case !errors.Is(err, wherry.ErrNotSent):
					b.note(it, false)
				}
			}
			return wherry.Ack()
		}), wherry.Prefetch(1)))
	time.Sleep(2 * time.Second)
	r.mustEnd()
	assert.NoError(w, p.Close(w.Context()))
	assert.Equal(w, b.waits(), 0)
}

func stopInACircle(w *world) {
	a, b := w.book("left"), w.book("right")
	pass := func(to *book) wherry.Handler[item] {
		return func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			if err := wait(ctx, 100*time.Millisecond); err != nil {
				return wherry.Retry(err)
			}
			next := item{m.Value.Key, m.Value.N + 1}
			if err := to.offer(ctx, next); err != nil {
				return wherry.Retry(err)
			}
			return wherry.Ack()
		}
	}
	w.within = 5*time.Second + 2*grace
	a.publish(item{"x", 0}, item{"y", 0})
	r := w.start(
		wherry.Consume(wherry.Queue(w.broker, a.topic), a.handler(pass(b)), wherry.DrainTime(5*time.Second)),
		wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(pass(a)), wherry.DrainTime(5*time.Second)))
	time.Sleep(10 * time.Second)
	r.endAnyhow() // there is no moment of emptiness: the drain time is used up
	assert.True(w, w.left > 0, "it says that something was left")
	assert.Equal(w, a.waits()+b.waits(), w.left)
}
