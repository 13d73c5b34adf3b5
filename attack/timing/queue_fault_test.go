package timing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Faults of a queue's broker, at bad moments.
func TestQueueFaults(t *testing.T) {
	t.Parallel()
	attack(t, "the connection dies under every handler", plain(), hardCutUnderHandlers)
	attack(t, "the connection dies in the drain and stays away", plain(), hardCutInTheDrain)
	attack(t, "the link hangs through the whole drain", keeping(plain()), softCutThroughTheDrain)
	attack(t, "the link hangs while retries and dead letters are copied", plain(), softCutWhileMoving)
	attack(t, "settlements are refused until after the stop", keeping(plain()), settlementsRefusedAtTheStop)
	attack(t, "the connection is cut before settlements, across a restart", keeping(plain()), cutBeforeSettlements)
	attack(t, "the connection is cut after the settlements of moved messages", plain(), cutAfterMoves)
	attack(t, "the copy of a retry is written and not confirmed", plain(), retryUnconfirmed)
	attack(t, "confirms of dead letters are withheld at the stop", keeping(plain()), confirmsWithheld)
	attack(t, "topics vanish while retries wait", plain(), wipeWhileRetriesWait)
	attack(t, "topics vanish under handlers that will reject", plain(), wipeUnderRejects)
	attack(t, "topics vanish in the drain", plain(), wipeInTheDrain)
	attack(t, "the queue goes silent in the drain", plain(), stallInTheDrain)
	attack(t, "an operator pauses the queue in the drain, and resumes it", plain(), queuePausedInTheDrain)
	attack(t, "a tenure ends with time, and the stop comes in it", keeping(plain()), stopInsideARevocation)
	attack(t, "a tenure is ending, and is lost before its time", plain(), revocationCutShort)
	attack(t, "tenures are lost under retries again and again, seed 11", plain(), revokeStorm)
	attack(t, "all is delivered twice, and fails at first", plain(), duplicatesThatFail)
	attack(t, "a lease ends while its settlement is slow", queues(mem.Config{Lease: time.Second}), leaseBesideSlowSettlements)
	attack(t, "leases of what waits behind a pause", queues(mem.Config{Lease: time.Second}), leasesBehindAPause)
	attack(t, "the broker is closed under handlers", plain(), closeUnderHandlers)
	attack(t, "the broker is closed in the drain", plain(), closeInTheDrain)
	attack(t, "the broker is closed while a publish waits for room", queues(mem.Config{MaxMessages: 3}), closeUnderAPublish)
	attack(t, "one of two receivers ends under its handlers", watched(plain()), receiverEndsUnderHandlers)
	attack(t, "every receiver ends, and none can be opened until the stop", watched(plain()), noReceiverUntilTheStop)
}

func hardCutUnderHandlers(w *world) {
	b := w.book("q")
	b.publish(series(20, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			assert.Equal(w, m.Attempt(), 1)
			if err := wait(ctx, time.Second); err != nil {
				assert.ErrorIs(w, err, wherry.ErrRevoked)
				return wherry.Retry(err)
			}
			return wherry.Ack()
		}), wherry.Concurrency(4)))
	for range 3 {
		time.Sleep(1500 * time.Millisecond)
		w.faults().Disconnect(mem.HardCut)
		time.Sleep(time.Second)
		w.faults().Reconnect()
		time.Sleep(15 * time.Second)
	}
	r.mustEnd()
	assert.Equal(w, b.acks(), 20)
	assert.Equal(w, b.waits(), 0)
}

func hardCutInTheDrain(w *world) {
	w.within = 10*time.Second + 2*grace + 10*time.Second // and to close
	b := w.book("q")
	b.publish(series(20, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)),
		wherry.DrainTime(10*time.Second)))
	time.Sleep(2500 * time.Millisecond)
	r.stop()
	time.Sleep(2 * time.Second)
	w.faults().Disconnect(mem.HardCut)
	err := r.end()
	left, ok := errors.AsType[*wherry.AbandonedError](err)
	assert.True(w, ok && left.Unknown != nil, fmt.Sprintf("got %v, want that it is not known what is left", err))
	w.faults().Reconnect()
	assert.Equal(w, b.acks()+b.waits() >= 20, true)
}

func softCutThroughTheDrain(w *world) {
	w.within = 5*time.Second + 2*grace + 10*time.Second
	b := w.book("q")
	b.publish(series(10, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)),
		wherry.Concurrency(5), wherry.DrainTime(5*time.Second)))
	time.Sleep(500 * time.Millisecond)
	w.faults().Disconnect(mem.SoftCut)
	_ = r.end() // its settlements arrive no more, and it may say so
	w.faults().Reconnect()
	assert.Equal(w, b.waits(), 10)
}

func softCutWhileMoving(w *world) {
	b := w.book("q", steadily(2, time.Second))
	b.attempts = 2
	b.publish(series(12, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			_ = wait(ctx, 500*time.Millisecond)
			if m.Value.N%2 == 0 {
				return wherry.Reject(errTry)
			}
			return fails(1)(ctx, m)
		}), wherry.Concurrency(12)))
	for range 3 {
		time.Sleep(400 * time.Millisecond)
		w.faults().Disconnect(mem.SoftCut)
		time.Sleep(15 * time.Second) // longer than one call may take
		w.faults().Reconnect()
		time.Sleep(200 * time.Millisecond)
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 6)
	assert.True(w, b.letters() >= 6, "the rejected are dead letters")
	assert.Equal(w, b.waits(), 0)
}

func settlementsRefusedAtTheStop(w *world) {
	w.within = 5*time.Second + 2*grace + 10*time.Second
	b := w.book("q")
	b.publish(series(10, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)),
		wherry.Concurrency(2), wherry.DrainTime(5*time.Second))
	r := w.start(c)
	w.faults().FailSettle("q", -1)
	time.Sleep(2500 * time.Millisecond)
	_ = r.end()
	assert.Equal(w, b.waits(), 10) // none was settled, all came back
	w.faults().FailSettle("q", 0)
	r = w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.waits(), 0)
}

func cutBeforeSettlements(w *world) {
	b := w.book("q")
	b.publish(series(30, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(100*time.Millisecond)), wherry.Concurrency(3))
	for range 6 {
		w.faults().CutBeforeSettle("q", 4)
		r := w.start(c)
		time.Sleep(350 * time.Millisecond)
		r.mustEnd()
	}
	w.faults().Clear()
	r := w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.waits(), 0)
	assert.Equal(w, b.acks(), 30)
}

func cutAfterMoves(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.attempts = 3
	b.publish(series(20, "a")...)
	w.faults().CutAfterSettle("q", 15)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			if m.Value.N%4 == 0 {
				return wherry.Reject(errTry)
			}
			return fails(1)(ctx, m)
		}), wherry.Concurrency(3)))
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 15)
	assert.Equal(w, b.letters(), 5)
}

func retryUnconfirmed(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.attempts = 3
	b.publish(series(10, "a")...)
	w.faults().CutAfter("q", 6)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(fails(2)), wherry.Concurrency(2)))
	time.Sleep(500 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.letters(), 0)
}

func confirmsWithheld(w *world) {
	w.within = 5*time.Second + 2*grace + 10*time.Second
	b := w.book("q")
	b.publish(series(8, "a")...)
	w.faults().WithholdConfirms("q.dlq")
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
			if m.Value.N < 4 {
				return wherry.Reject(errTry)
			}
			return wherry.Ack()
		}), wherry.DrainTime(5*time.Second))
	r := w.start(c)
	time.Sleep(2 * time.Second)
	_ = r.end()
	assert.Equal(w, b.waits(), 4) // of which copies may be in the dead letters
	w.faults().ReleaseConfirms("q.dlq")
	r = w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.waits(), 0)
	assert.True(w, b.letters() >= 4, "the rejected are dead letters")
}

func wipeWhileRetriesWait(w *world) {
	b := w.book("q", steadily(3, 10*time.Second))
	b.attempts = 3
	b.publish(series(10, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(fails(1))))
	time.Sleep(5 * time.Second)
	w.wipe()
	time.Sleep(time.Second)
	b.publish(series(10, "b")...)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10) // of b
	assert.Equal(w, b.waits(), 0)
}

func wipeUnderRejects(w *world) {
	b := w.book("q")
	b.publish(series(4, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
			_ = wait(ctx, time.Second)
			return wherry.Reject(errTry)
		}), wherry.Concurrency(4)))
	time.Sleep(500 * time.Millisecond)
	w.wipe()
	time.Sleep(5 * time.Second)
	b.publish(series(4, "b")...)
	time.Sleep(5 * time.Second)
	r.mustEnd()
	assert.True(w, b.letters() >= 4, "dead letters have a topic again")
}

func wipeInTheDrain(w *world) {
	b := w.book("q")
	b.publish(series(50, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)), wherry.Concurrency(2)))
	time.Sleep(2500 * time.Millisecond)
	r.stop()
	time.Sleep(2 * time.Second)
	w.wipe()
	began := time.Now()
	r.mustEnd()
	assert.True(w, time.Since(began) < 5*time.Second, "nothing is left to drain")
}

func stallInTheDrain(w *world) {
	w.within = 10*time.Second + 2*grace
	b := w.book("q")
	b.exact = true
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)), wherry.DrainTime(10*time.Second)))
	w.faults().Stall("q")
	b.publish(series(5, "a")...)
	time.Sleep(time.Second)
	r.endLeaving(0, 5)
	assert.Equal(w, b.acks(), 0)
}

func queuePausedInTheDrain(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(300, "a")...) // more than a worker takes at a time
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(10*time.Millisecond)), wherry.Prefetch(8)))
	time.Sleep(100 * time.Millisecond)
	r.stop()
	time.Sleep(100 * time.Millisecond)
	w.faults().PauseQueue("q")
	time.Sleep(10 * time.Second)
	w.faults().ResumeQueue("q")
	r.mustEnd()
	assert.Equal(w, b.acks(), 300)
}

func stopInsideARevocation(w *world) {
	b := w.book("q")
	b.publish(series(20, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(3*time.Second)), wherry.Concurrency(4))
	r := w.start(c)
	time.Sleep(time.Second)
	w.faults().Revoke("q", 5*time.Second)
	time.Sleep(time.Second)
	r.mustEnd() // what was in hand is done
	assert.Equal(w, b.acks(), 4)
	assert.Equal(w, b.waits(), 16)
	r = w.start(c)
	time.Sleep(500 * time.Millisecond)
	w.faults().Revoke("q", time.Second) // too short: the handlers are told, and come back
	time.Sleep(100 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, b.waits(), 16)
}

func revocationCutShort(w *world) {
	b := w.book("q")
	b.publish(series(12, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(2*time.Second)), wherry.Concurrency(3)))
	for range 4 {
		time.Sleep(time.Second)
		w.faults().Revoke("q", 10*time.Second)
		time.Sleep(500 * time.Millisecond)
		w.faults().Disconnect(mem.HardCut)
		w.faults().Reconnect()
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 12)
}

func revokeStorm(w *world) {
	w.seed(11)
	b := w.book("q", steadily(100, 50*time.Millisecond))
	b.attempts = 100
	b.publish(series(100, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			if wait(ctx, w.ms(30)) != nil {
				return wherry.Retry(context.Cause(ctx))
			}
			switch w.roll(6) {
			case 0:
				return wherry.Retry(errTry)
			case 1:
				return wherry.Defer(0)
			}
			return wherry.Ack()
		}), wherry.Concurrency(3), wherry.Workers(2), wherry.MaxDelivered(10_000)))
	for b.waits() > 0 {
		time.Sleep(20*time.Millisecond + w.ms(40))
		w.faults().Revoke("q", w.ms(3)*10)
	}
	r.mustEnd()
	assert.Equal(w, b.acks(), 100)
}

func duplicatesThatFail(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.attempts = 3
	b.publish(series(10, "a")...)
	w.faults().Duplicate("q", 10)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(fails(2)), wherry.Concurrency(4)))
	time.Sleep(2500 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.letters(), 0)
	assert.Equal(w, b.waits(), 0)
}

func leaseBesideSlowSettlements(w *world) {
	b := w.book("q")
	b.publish(series(10, "a")...)
	w.faults().SlowSettle("q", 3*time.Second) // three leases
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(2500*time.Millisecond)), wherry.Concurrency(2)))
	time.Sleep(10 * time.Second)
	w.faults().SlowSettle("q", 0)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.waits(), 0)
	assert.Equal(w, b.letters(), 0)
}

func leasesBehindAPause(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(30, "a")...)
	c := wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(deaf(5*time.Second)), wherry.Concurrency(10))
	r := w.start(c)
	time.Sleep(time.Second)
	resume := c.Pause("for longer than a lease")
	time.Sleep(time.Minute)
	assert.Equal(w, b.acks(), 10)
	resume()
	r.mustEnd()
	assert.Equal(w, b.acks(), 30)
}

func closeUnderHandlers(w *world) {
	b := w.book("q")
	b.publish(series(10, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(3*time.Second)), wherry.Concurrency(4)))
	time.Sleep(4 * time.Second)
	w.closeBroker()
	assert.ErrorIs(w, r.wait(), wherry.ErrClosed)
}

func closeInTheDrain(w *world) {
	w.within = 10*time.Second + 2*grace
	b := w.book("q")
	b.publish(series(40, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			_ = wait(ctx, time.Second)
			return fails(m.Value.N%3)(ctx, m)
		}), wherry.DrainTime(10*time.Second)))
	time.Sleep(3500 * time.Millisecond)
	r.stop()
	time.Sleep(3 * time.Second)
	w.closeBroker()
	assert.True(w, r.end() != nil, "it says that the broker is closed, or what is left")
}

func closeUnderAPublish(w *world) {
	b := w.book("q")
	b.publish(series(3, "a")...)
	told := make(chan error, 3)
	for n := range 3 {
		go func() { told <- b.offer(w.Context(), item{"b", n}) }()
	}
	time.Sleep(time.Second)
	w.closeBroker()
	for range 3 {
		err := <-told
		assert.ErrorIs(w, err, wherry.ErrNotSent)
		assert.ErrorIs(w, err, wherry.ErrClosed)
	}
}

func receiverEndsUnderHandlers(w *world) {
	b := w.book("q")
	b.publish(series(20, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(
		func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			assert.Equal(w, m.Attempt(), 1)
			return takes(time.Second)(ctx, m)
		}), wherry.Concurrency(2), wherry.Workers(2), wherry.Prefetch(2))) // who has more in hand notices later
	for n := range 4 {
		time.Sleep(1500 * time.Millisecond)
		w.stand.kill(w, "q", n)
	}
	time.Sleep(time.Minute)
	assert.Equal(w, w.stand.opened("q"), 6)
	r.mustEnd()
	assert.Equal(w, b.acks(), 20)
}

func noReceiverUntilTheStop(w *world) {
	w.within = 10*time.Second + 2*grace
	b := w.book("q")
	b.publish(series(20, "a")...)
	r := w.start(wherry.Consume(wherry.Queue(w.broker, b.topic), b.handler(takes(time.Second)),
		wherry.Workers(2), wherry.DrainTime(10*time.Second)))
	time.Sleep(1500 * time.Millisecond)
	w.stand.opening(func(context.Context) error { return errTry })
	w.stand.kill(w, "q", 0)
	w.stand.kill(w, "q", 1)
	time.Sleep(time.Minute)
	err := r.end()
	left, ok := errors.AsType[*wherry.AbandonedError](err)
	w.stand.opening(nil)
	assert.True(w, ok && left.Left == b.waits(), fmt.Sprintf("got %v, want %d messages left", err, b.waits()))
}
