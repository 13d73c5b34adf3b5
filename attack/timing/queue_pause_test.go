package timing_test

import (
	"context"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Outcomes of a queue's messages, and pauses, at bad moments.
func TestQueueOutcomes(t *testing.T) {
	t.Parallel()
	attack(t, "defer past the twenty-four hours", plain(), deferTooLong)
	attack(t, "every outcome at once, with a full stop in between", keeping(plain()), everyOutcome)
	attack(t, "what does not decode between what does", plain(), undecodableBetween)
	attack(t, "a delayed message becomes due while its consumer stops", plain(), delayedBecomesDue)
	attack(t, "reject into full dead letters until the stop", queues(mem.Config{MaxDeadLetters: 1}), rejectIntoFullDeadLetters)
	attack(t, "timeouts of all lanes at once, with late answers", plain(), lateAnswers)
	attack(t, "a handler that overran answers in the grace", keeping(plain()), overrunAnswersInTheGrace)
	attack(t, "stop while paused with work in hand", plain(), stopWhilePaused)
	attack(t, "a pause ends by itself in the drain", plain(), pauseEndsInTheDrain)
	attack(t, "pause in the drain", plain(), pauseInTheDrain)
	attack(t, "a handler pauses and resumes its own consumer", plain(), pauseFromTheHandler)
	attack(t, "pauses over a restart", keeping(plain()), pauseOverARestart)
	attack(t, "pause while every retry becomes due", plain(), pauseWhileRetriesAreDue)
	attack(t, "pause and resume as fast as messages come, seed 5", plain(), pauseStorm)
}

func deferTooLong(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
			assert.Equal(w, m.Attempt(), 1)
			return wherry.Defer(13 * time.Hour)
		})))
	time.Sleep(13*time.Hour - time.Second)
	assert.Equal(w, b.seen(), "a0/1 a1/1 a2/1")
	assert.Equal(w, b.waits(), 3)
	time.Sleep(2 * time.Second)
	assert.Equal(w, b.letters(), 3)
	r.mustEnd()
}

func everyOutcome(w *world) {
	b := w.book("q", steadily(2, time.Second))
	b.exact, b.attempts = true, 2
	keys := []string{"ack", "retry", "panic", "reject", "defer", "zero", "after"}
	b.publish(series(6, keys...)...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			if err := wait(ctx, 300*time.Millisecond); err != nil {
				return wherry.Retry(err)
			}
			switch m.Value.Key {
			case "retry":
				return wherry.Retry(errTry)
			case "panic":
				panic(errTry)
			case "reject":
				return wherry.Reject(nil)
			case "defer":
				if m.Published().Add(20 * time.Second).After(time.Now()) {
					return wherry.Defer(time.Second)
				}
			case "zero":
				return wherry.Outcome{}
			case "after":
				if m.Attempt() == 1 {
					return wherry.RetryAfter(7*time.Second, nil)
				}
			}
			return wherry.Ack()
		}), wherry.Concurrency(4), wherry.DrainTime(200*time.Millisecond))
	for range 12 {
		r := w.start(c)
		time.Sleep(1500 * time.Millisecond)
		r.mustEnd()
	}
	r := w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.waits(), 0)
	assert.Equal(w, b.acks(), 18)
	assert.Equal(w, b.letters(), 24)
}

func undecodableBetween(w *world) {
	b := w.book("q")
	b.publish(series(10, "a")...)
	for range 5 {
		assert.NoError(w, w.faults().Inject("q", driver.Record{Key: []byte("a"), Body: []byte("{")}))
	}
	b.publish(item{"a", 10})
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)), wherry.Concurrency(2)))
	time.Sleep(1500 * time.Millisecond)
	w.faults().FailSend("q.dlq", 3, nil)
	r.mustEnd()
	assert.Equal(w, b.acks(), 11)
	assert.Equal(w, b.letters(), 5)
	assert.Equal(w, b.waits(), 0)
}

func delayedBecomesDue(w *world) {
	b := w.book("q")
	b.exact = true
	for n := range 20 {
		assert.NoError(w, b.offer(w.Context(), item{"a", n}, wherry.WithDelay(time.Duration(n)*time.Second)))
	}
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(ack), wherry.DrainTime(10*time.Second)))
	time.Sleep(4500 * time.Millisecond)
	r.endLeaving(0, 5) // of 15 s to 19 s
	assert.Equal(w, b.acks(), 15)
}

func rejectIntoFullDeadLetters(w *world) {
	w.within = 5*time.Second + 2*grace
	b := w.book("q")
	b.exact = true
	b.publish(series(6, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
			if m.Value.N < 3 {
				return wherry.Reject(errTry)
			}
			return wherry.Ack()
		}), wherry.DrainTime(5*time.Second))
	r := w.start(c)
	time.Sleep(time.Minute)
	assert.Equal(w, b.letters(), 1)
	assert.Equal(w, b.acks(), 3)
	r.endLeaving(0, 2)
}

func lateAnswers(w *world) {
	b := w.book("q", steadily(5, time.Second))
	b.exact = true
	b.publish(series(12, "a")...)
	var ev listener
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
			time.Sleep(5 * time.Second) // whatever its context says
			switch {
			case m.Value.N%3 == 0:
				return wherry.Ack() // which counts
			case m.Value.N%3 == 1:
				return wherry.Reject(errTry)
			case m.Attempt() == 1:
				return wherry.Retry(errTry)
			}
			return wherry.Ack()
		}), wherry.Concurrency(4), wherry.HandlerTimeout(time.Second), wherry.OnEvent(ev.hear)))
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 8)
	assert.Equal(w, b.letters(), 4)
	assert.True(w, len(heard[*wherry.Overran](&ev)) >= 12, "overruns are told of")
}

func overrunAnswersInTheGrace(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(deaf(10500*time.Millisecond)),
		wherry.Concurrency(3), wherry.HandlerTimeout(time.Second), wherry.DrainTime(5*time.Second)))
	time.Sleep(5 * time.Second) // the drain ends at 10 s
	r.mustEnd()
	assert.Equal(w, b.acks(), 3)
	assert.Equal(w, b.waits(), 0)
}

func stopWhilePaused(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(10, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(5*time.Second)), wherry.Concurrency(2))
	r := w.start(c)
	time.Sleep(time.Second)
	resume := c.Pause("tea")
	time.Sleep(time.Second)
	r.endLeaving(0, 8) // two were in hand
	resume()
	assert.Equal(w, b.acks(), 2)
	assert.Equal(w, b.waits(), 8)
}

func pauseEndsInTheDrain(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(10, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(5*time.Second)), wherry.Concurrency(2))
	r := w.start(c)
	time.Sleep(time.Second)
	c.PauseFor(2*time.Second, "a rest") // over while those in hand go on
	time.Sleep(time.Second)
	r.endAnyhow()
	assert.Equal(w, b.acks()+b.waits(), 10)
	assert.Equal(w, b.waits(), w.left)
}

func pauseInTheDrain(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(10, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(3*time.Second)))
	r := w.start(c)
	time.Sleep(time.Second)
	r.stop()
	time.Sleep(6 * time.Second) // the third is in hand
	c.Pause("an operator")
	r.endAnyhow()
	assert.Equal(w, b.acks()+b.waits(), 10)
	assert.Equal(w, b.waits(), w.left)
	assert.True(w, b.acks() < 10, "a paused consumer is not waited for")
}

func pauseFromTheHandler(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(6, "a")...)
	var c *wherry.Consumer
	c = wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(context.Context, *wherry.Message[item]) wherry.Outcome {
			resume := c.Pause("inside")
			time.Sleep(time.Second)
			resume()
			resume()
			c.PauseFor(time.Second, "after")
			return wherry.Ack()
		}), wherry.Concurrency(2))
	r := w.start(c)
	time.Sleep(time.Minute)
	assert.Equal(w, b.acks(), 6)
	r.mustEnd()
}

func pauseOverARestart(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(6, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)))
	resume := c.Pause("before it runs")
	c.PauseFor(10*time.Second, "as well")
	for range 3 {
		r := w.start(c)
		time.Sleep(4 * time.Second)
		assert.Equal(w, c.Health().State, wherry.StatePaused)
		r.mustEnd()
	}
	assert.Equal(w, b.seen(), "")
	r := w.start(c)
	resume() // the other is over by now
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 6)
}

func pauseWhileRetriesAreDue(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.exact, b.attempts = true, 3
	b.publish(series(40, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(fails(2)), wherry.Concurrency(4))
	r := w.start(c)
	time.Sleep(500 * time.Millisecond)
	resume := c.Pause("an hour")
	time.Sleep(time.Hour)
	assert.Equal(w, b.waits(), 40)
	assert.Equal(w, b.acks(), 0)
	resume()
	time.Sleep(time.Minute)
	assert.Equal(w, b.acks(), 40)
	r.mustEnd()
}

func pauseStorm(w *world) {
	w.seed(5)
	b := w.book("q", steadily(10, 50*time.Millisecond))
	b.exact, b.attempts = true, 10
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			if wait(ctx, w.ms(20)) != nil || w.roll(4) == 0 {
				return wherry.Retry(errTry)
			}
			return wherry.Ack()
		}), wherry.Concurrency(3), wherry.Workers(2))
	r := w.start(c)
	for n := range 300 {
		b.publish(item{"a", n})
		switch w.roll(3) {
		case 0:
			c.PauseFor(w.ms(30), "a rest")
		case 1:
			resume := c.Pause("for a moment")
			time.Sleep(w.ms(10))
			go resume()
		default:
			time.Sleep(w.ms(10))
		}
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks()+b.letters(), 300)
}
