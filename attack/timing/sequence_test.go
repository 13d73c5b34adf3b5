package timing_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Sequences, whose keys have to stay in order, whatever is done to their consumers.
func TestSequences(t *testing.T) {
	t.Parallel()
	attack(t, "stop while a key waits for its retry, and run again", keeping(plain()), sequenceStoppedInARetry)
	attack(t, "stop while a key waits for its retry, in a broker that forgets", plain(), sequenceEmptiedInARetry)
	attack(t, "panic and end goroutines at the first of a long key", plain(), sequencePanics)
	attack(t, "the dead letter of a key is refused while more of it comes", plain(), sequenceDeadLetterRefused)
	attack(t, "stop while the dead letter of a key is refused", keeping(plain()), sequenceStoppedAtARefusal)
	attack(t, "defer the first of a key for an hour, and stop", keeping(plain()), sequenceDeferredForAnHour)
	attack(t, "abandon the owner of a key, and hand the key over", keeping(plain()), sequenceAbandoned)
	attack(t, "the owner's receiver ends under its handlers", watched(plain()), sequenceReceiverEnds)
	attack(t, "pause while a retry becomes due, with a key full", plain(), sequencePausedInARetry)
	attack(t, "the connection dies while keys wait for retries", plain(), sequenceHardCut)
	attack(t, "topics vanish while keys wait for retries", plain(), sequenceWiped)
	attack(t, "a lease ends under a slow settlement of a key", queues(mem.Config{Lease: time.Second}), sequenceLeases)
	attack(t, "three consumers come and go over the same keys, seed 21", keeping(plain()), sequenceHandOvers)
	attack(t, "released ones come behind newer ones, and restarts", keeping(queues(mem.Config{Weak: mem.Weak{RequeueBehindNew: true}})),
		sequenceRequeuedBehind)
	attack(t, "a group's keys with one policy beside another's", plain(), sequenceOfTwoGroups)
	attack(t, "close broker while keys wait, are handled and are moved", plain(), sequenceBrokerClosed)
}

// sequence opens a book whose keys are in order, under a failure policy and with three attempts a second apart.
func (w *world) sequence(p wherry.FailurePolicy) *book {
	b := w.book("s", steadily(3, time.Second))
	b.ordered, b.alone, b.attempts = true, true, 3
	b.setAside = p == wherry.FailAll || p == wherry.Park
	if p == wherry.Block {
		b.attempts = 0
	}
	return b
}

// inOrder is a consumer of it.
func (b *book) inOrder(p wherry.FailurePolicy, h wherry.Handler[item], opts ...wherry.ConsumeOption) *wherry.Consumer {
	return wherry.Consume(wherry.Sequence(b.w.broker, b.topic, wherry.OnFailure(p)), b.handler(h), opts...)
}

// failsAt fails the first attempts of some items of a key.
func failsAt(n, attempts int) wherry.Handler[item] {
	return func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return wherry.Retry(err)
		}
		if m.Value.N == n && m.Attempt() <= attempts {
			return wherry.Retry(errTry)
		}
		return wherry.Ack()
	}
}

func sequenceStoppedInARetry(w *world) {
	b := w.sequence(wherry.Skip)
	b.exact = true
	b.publish(series(10, "a", "b", "c")...)
	c := b.inOrder(wherry.Skip, failsAt(4, 1), wherry.Concurrency(2))
	for range 5 {
		r := w.start(c)
		time.Sleep(500 * time.Millisecond) // a4 fails anew in each run, and its second attempt never comes
		r.mustEnd()
	}
	assert.Equal(w, b.acks(), 12)
	r := w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 30)
}

func sequenceEmptiedInARetry(w *world) {
	b := w.sequence(wherry.Skip)
	b.exact = true
	b.publish(series(10, "a", "b", "c")...)
	r := w.start(b.inOrder(wherry.Skip, failsAt(4, 5), wherry.Concurrency(2)))
	time.Sleep(500 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, b.acks(), 27)
	assert.Equal(w, b.letters(), 3)
}

func sequencePanics(w *world) {
	b := w.sequence(wherry.Skip)
	b.exact = true
	b.publish(series(200, "a", "b")...)
	r := w.start(b.inOrder(wherry.Skip, func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		switch {
		case m.Value.N%50 == 0 && m.Attempt() == 1:
			panic("the first")
		case m.Value.N%50 == 0 && m.Attempt() == 2:
			runtime.Goexit()
		case m.Value.N%50 == 49:
			panic("always")
		}
		return wherry.Ack()
	}, wherry.Concurrency(2)))
	time.Sleep(500 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, b.acks(), 2*(200-4))
	assert.Equal(w, b.letters(), 2*4)
}

func sequenceDeadLetterRefused(w *world) {
	b := w.sequence(wherry.Skip)
	w.faults().FailSend("s.dlq", -1, nil)
	r := w.start(b.inOrder(wherry.Skip, func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Value.N == 1 {
			return wherry.Reject(errTry)
		}
		return wherry.Ack()
	}))
	for n := range 10 {
		b.publish(item{"a", n}, item{fmt.Sprint("other", n, "-"), 0})
		time.Sleep(time.Second)
	}
	assert.Equal(w, b.acks(), 11) // the others and a0: nothing passes a1
	w.faults().FailSend("s.dlq", 0, nil)
	time.Sleep(time.Minute)
	assert.Equal(w, b.letters(), 1)
	r.mustEnd()
}

func sequenceStoppedAtARefusal(w *world) {
	w.within = 5*time.Second + 2*grace
	b := w.sequence(wherry.Skip)
	b.exact = true
	b.publish(series(5, "a", "b")...)
	w.faults().FailSend("s.dlq", -1, nil)
	c := b.inOrder(wherry.Skip, func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Value.N == 2 {
			return wherry.Reject(errTry)
		}
		return wherry.Ack()
	}, wherry.DrainTime(5*time.Second))
	r := w.start(c)
	time.Sleep(2 * time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 4)
	assert.Equal(w, b.waits(), 6)
	w.faults().FailSend("s.dlq", 0, nil)
	r = w.start(c)
	time.Sleep(10 * time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 8)
	assert.Equal(w, b.letters(), 2)
}

func sequenceDeferredForAnHour(w *world) {
	b := w.sequence(wherry.Skip)
	b.exact = true
	b.publish(series(5, "a", "b")...)
	began := time.Now()
	c := b.inOrder(wherry.Skip, func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		assert.Equal(w, m.Attempt(), 1)
		if m.Value.Key == "a" && m.Value.N == 1 && time.Since(began) < 2*time.Hour {
			return wherry.Defer(time.Hour)
		}
		return wherry.Ack()
	})
	for range 3 {
		r := w.start(c)
		time.Sleep(50 * time.Minute)
		stopped := time.Now()
		r.mustEnd()
		assert.Equal(w, time.Since(stopped), 0*time.Second)
	}
	assert.Equal(w, b.acks() >= 6, true)
	r := w.start(c)
	time.Sleep(2 * time.Hour)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
}

func sequenceAbandoned(w *world) {
	b := w.sequence(wherry.Skip)
	b.alone = false // who was abandoned works on
	b.publish(series(6, "a", "b")...)
	let := make(chan struct{})
	one := w.start(b.inOrder(wherry.Skip, func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Value.N == 2 {
			<-let
			return wherry.Reject(errTry)
		}
		return wherry.Ack()
	}, wherry.Concurrency(2), wherry.DrainTime(time.Second)))
	two := w.start(b.inOrder(wherry.Skip, failsAt(3, 1), wherry.Concurrency(2)))
	time.Sleep(10 * time.Millisecond)
	_ = one.end() // which may have either key, or both
	time.Sleep(time.Second)
	close(let) // a late answer settles nobody else's
	time.Sleep(10 * time.Second)
	two.mustEnd()
	assert.Equal(w, b.letters(), 0)
	assert.Equal(w, b.waits(), 0)
}

func sequenceReceiverEnds(w *world) {
	b := w.sequence(wherry.Skip)
	b.publish(series(20, "a", "b", "c")...)
	r := w.start(b.inOrder(wherry.Skip, func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		err := wait(ctx, 300*time.Millisecond)
		if err != nil {
			time.Sleep(2 * time.Second) // it does not hurry: nobody may have its key meanwhile
			return wherry.Retry(err)
		}
		return wherry.Ack()
	}, wherry.Concurrency(2), wherry.Prefetch(2))) // who has more in hand notices later
	for n := range 3 {
		time.Sleep(4 * time.Second)
		w.stand.kill(w, "s", n)
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 60)
	assert.Equal(w, b.letters(), 0)
}

func sequencePausedInARetry(w *world) {
	b := w.book("s", steadily(3, time.Second))
	b.exact, b.ordered, b.alone, b.attempts = true, true, true, 3
	c := wherry.Consume(wherry.Sequence(w.broker, b.topic, wherry.WaitingAtMost(2, 4, 1<<20)), b.handler(failsAt(0, 2)))
	r := w.start(c)
	b.publish(series(10, "a", "b")...)
	time.Sleep(500 * time.Millisecond)
	resume := c.Pause("over the second attempt")
	time.Sleep(time.Hour)
	assert.Equal(w, b.acks(), 0)
	resume()
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 20)
}

func sequenceHardCut(w *world) {
	b := w.sequence(wherry.Skip)
	b.alone = false // who lost its tenure is told, and works on for a moment
	b.publish(series(20, "a", "b", "c")...)
	r := w.start(b.inOrder(wherry.Skip, func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		return failsAt(m.Value.N/3*3, 1)(ctx, m)
	}, wherry.Concurrency(2), wherry.Workers(2)))
	for range 5 {
		time.Sleep(700 * time.Millisecond)
		w.faults().Disconnect(mem.HardCut)
		time.Sleep(2 * time.Second)
		w.faults().Reconnect()
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 60)
	assert.Equal(w, b.letters(), 0)
}

func sequenceWiped(w *world) {
	b := w.sequence(wherry.Skip)
	b.publish(series(5, "a", "b")...)
	r := w.start(b.inOrder(wherry.Skip, failsAt(2, 2)))
	time.Sleep(time.Second)
	w.wipe()
	time.Sleep(5 * time.Second)
	b.publish(series(5, "c", "d")...)
	b.publish(item{"a", 5})
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.waits(), 0)
	assert.Equal(w, b.acks(), 4+11)
}

func sequenceLeases(w *world) {
	b := w.sequence(wherry.Skip)
	b.alone = false
	b.publish(series(6, "a", "b")...)
	w.faults().SlowSettle("s", 2500*time.Millisecond)
	r := w.start(b.inOrder(wherry.Skip, takes(1500*time.Millisecond), wherry.Concurrency(2), wherry.Workers(2), wherry.MaxDelivered(1000)))
	time.Sleep(20 * time.Second)
	w.faults().SlowSettle("s", 0)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 12)
	assert.Equal(w, b.letters(), 0)
}

func sequenceHandOvers(w *world) {
	w.seed(21)
	b := w.sequence(wherry.Skip)
	b.exact = true
	var keys []string
	for n := range 8 {
		keys = append(keys, fmt.Sprint("k", n, "-"))
	}
	b.publish(series(40, keys...)...)
	consumer := func() *wherry.Consumer {
		return b.inOrder(wherry.Skip, func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
			if wait(ctx, w.ms(15)) != nil || w.roll(15) == 0 {
				return wherry.Retry(errTry)
			}
			return wherry.Ack()
		}, wherry.Concurrency(1+w.roll(3)), wherry.Prefetch(20+w.roll(200)), steadily(1000, 30*time.Millisecond))
	}
	b.attempts = 0
	runs := []*run{w.start(consumer()), w.start(consumer()), w.start(consumer())}
	for b.waits() > 0 {
		time.Sleep(w.ms(200))
		n := w.roll(3)
		runs[n].mustEnd()
		runs[n] = w.start(consumer())
	}
	assert.Equal(w, b.acks(), 320)
}

func sequenceRequeuedBehind(w *world) {
	b := w.sequence(wherry.Skip)
	b.ordered = false // such a broker keeps none
	b.publish(series(30, "a", "b")...)
	c := b.inOrder(wherry.Skip, failsAt(7, 1), wherry.Concurrency(2), wherry.Prefetch(4))
	for range 10 {
		r := w.start(c)
		time.Sleep(330 * time.Millisecond)
		r.mustEnd()
	}
	r := w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 60)
}

func sequenceOfTwoGroups(w *world) {
	t := fanout("f", "one", "two")
	one, two := w.groupBook("one", t), w.groupBook("two", t)
	for _, b := range []*book{one, two} {
		b.exact, b.ordered, b.alone, b.attempts = true, true, true, 2
	}
	one.setAside = true
	of := func(b *book, p wherry.FailurePolicy) *wherry.Consumer {
		return wherry.Consume(wherry.GroupSequence(w.broker, b.group, t, wherry.OnFailure(p)), b.handler(failsAt(3, 2)),
			steadily(2, time.Second), wherry.Concurrency(2))
	}
	one.publish(series(10, "a", "b")...)
	r, s := w.start(of(one, wherry.FailAll)), w.start(of(two, wherry.Skip))
	time.Sleep(500 * time.Millisecond)
	r.mustEnd()
	s.mustEnd()
	assert.Equal(w, one.acks(), 6)
	assert.Equal(w, one.letters(), 14)
	assert.Equal(w, two.acks(), 18)
	assert.Equal(w, two.letters(), 2)
}

func sequenceBrokerClosed(w *world) {
	b := w.sequence(wherry.Skip)
	b.publish(series(10, "a", "b", "c", "d")...)
	w.faults().FailSend("s.dlq", -1, nil)
	r := w.start(b.inOrder(wherry.Skip, func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		_ = wait(ctx, 100*time.Millisecond)
		switch {
		case m.Value.Key == "a" && m.Value.N == 1:
			return wherry.Reject(errTry)
		case m.Value.Key == "b":
			return wherry.Retry(errTry)
		}
		return wherry.Ack()
	}, wherry.Concurrency(2)))
	time.Sleep(750 * time.Millisecond)
	w.closeBroker()
	assert.ErrorIs(w, r.wait(), wherry.ErrClosed)
}
