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

// Groups of a fan-out that get into each other's way.
func TestGroups(t *testing.T) {
	t.Parallel()
	attack(t, "one group stops while the other's retries wait", plain(), groupStopsBesideRetries)
	attack(t, "one handler of two groups is abandoned", plain(), groupAbandonsOne)
	attack(t, "a group's retries are taken up by another process", keeping(plain()), groupRetriesMove)
	attack(t, "redrive one group while it rejects again", plain(), groupRedrivenWhileRejecting)
	attack(t, "a group joins while the others drain", plain(), groupJoinsInTheDrain)
	attack(t, "topics vanish under two groups of which one waits", plain(), groupsWiped)
	attack(t, "one group is full and the publisher waits when the other stops", queues(mem.Config{MaxMessages: 10}), groupFullAtTheStop)
	attack(t, "two groups without delays, and one of them stops", undelayed(), groupsUndelayed)
}

// groups are the books of a topic with two groups, and a consumer of each.
func (w *world) groups(opts ...wherry.ConsumeOption) (one, two *book, of func(b *book, h wherry.Handler[item]) *wherry.Consumer) {
	t := fanout("f", "one", "two")
	one, two = w.groupBook("one", t), w.groupBook("two", t)
	of = func(b *book, h wherry.Handler[item]) *wherry.Consumer {
		return wherry.Consume(wherry.Group(w.broker, b.group, t), b.handler(h), opts...)
	}
	return one, two, of
}

func groupStopsBesideRetries(w *world) {
	one, two, of := w.groups(steadily(3, 5*time.Second))
	one.exact, two.exact, one.attempts, two.attempts = true, true, 3, 3
	one.publish(series(10, "a")...)
	r, s := w.start(of(one, fails(2))), w.start(of(two, fails(1)))
	time.Sleep(time.Second)
	r.mustEnd()
	one.publish(series(10, "b")...)
	time.Sleep(time.Second)
	s.mustEnd()
	assert.Equal(w, one.acks(), 10)
	assert.Equal(w, two.acks(), 20)
}

func groupAbandonsOne(w *world) {
	w.within = 2*time.Second + 2*grace
	one, two, of := w.groups(wherry.DrainTime(2 * time.Second))
	one.publish(series(3, "a")...)
	let := make(chan struct{})
	r := w.start(of(one, func(context.Context, *wherry.Message[item]) wherry.Outcome {
		<-let
		return wherry.Ack()
	}), of(two, takes(time.Second)))
	time.Sleep(100 * time.Millisecond)
	err := r.end()
	left, ok := errors.AsType[*wherry.AbandonedError](err)
	assert.True(w, ok && left.Handlers == 1 && left.Left >= 2, fmt.Sprintf("got %v, want a handler and two messages of one", err))
	assert.Equal(w, one.waits(), 3)
	assert.Equal(w, two.acks()+two.waits(), 3)
	close(let)
}

func groupRetriesMove(w *world) {
	one, two, of := w.groups(steadily(4, 3*time.Second))
	one.exact, two.exact, one.attempts, two.attempts = true, true, 4, 4
	one.publish(series(10, "a")...)
	r := w.start(of(one, fails(3)), of(two, ack))
	for range 6 {
		time.Sleep(2 * time.Second)
		next := w.start(of(one, fails(3)))
		r.mustEnd()
		r = next
	}
	time.Sleep(10 * time.Second)
	assert.Equal(w, one.acks(), 10)
	assert.Equal(w, two.acks(), 10)
}

func groupRedrivenWhileRejecting(w *world) {
	one, two, of := w.groups()
	one.exact, two.exact = true, true
	one.publish(series(30, "a")...)
	rejects := func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Value.N%3 == 0 {
			return wherry.Reject(errTry)
		}
		return wherry.Ack()
	}
	r := w.start(of(one, rejects), of(two, rejects))
	time.Sleep(time.Second)
	for range 3 {
		done, err := wherry.Redrive(w.Context(), w.broker, one.topic, wherry.RedriveGroup("one"))
		assert.NoError(w, err)
		assert.Equal(w, done.Moved, 10)
	}
	r.mustEnd()
	assert.Equal(w, one.letters(), 10)
	assert.Equal(w, two.letters(), 10)
}

func groupJoinsInTheDrain(w *world) {
	one, _, of := w.groups()
	r := w.start(of(one, takes(time.Second)))
	one.publish(series(10, "a")...)
	time.Sleep(500 * time.Millisecond)
	r.stop()
	late := w.groupBook("late", one.topic)
	s := w.start(of(late, takes(100*time.Millisecond)))
	time.Sleep(500 * time.Millisecond)
	one.publish(series(10, "b")...) // for all three, and one is not done yet
	r.mustEnd()
	s.mustEnd()
	assert.Equal(w, one.acks(), 20)
	assert.Equal(w, late.acks(), 10)
}

func groupsWiped(w *world) {
	one, two, of := w.groups(steadily(3, 10*time.Second))
	one.publish(series(10, "a")...)
	c := of(two, ack)
	resume := c.Pause("while topics vanish")
	r := w.start(of(one, fails(1)), c)
	time.Sleep(time.Second)
	w.wipe()
	time.Sleep(5 * time.Second)
	resume()
	time.Sleep(5 * time.Second)
	one.publish(series(10, "b")...)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, one.acks(), 10)
	assert.Equal(w, two.acks(), 10)
}

func groupFullAtTheStop(w *world) {
	one, two, of := w.groups()
	r, s := w.start(of(one, ack)), w.start(of(two, takes(time.Second)))
	told := make(chan int)
	go func() {
		n := 0
		for ; n < 400; n++ {
			if one.offer(w.Context(), item{"a", n}) != nil {
				break
			}
		}
		told <- n
	}()
	time.Sleep(20500 * time.Millisecond)
	r.mustEnd()
	time.Sleep(20 * time.Second) // nobody takes from one, which is full now
	s.mustEnd()
	sent := <-told // its publish has given up
	assert.True(w, sent < 400, "nobody made room for the rest")
	assert.Equal(w, one.acks()+one.waits(), sent)
	assert.Equal(w, two.acks()+two.waits(), sent)
}

func groupsUndelayed(w *world) {
	one, two, of := w.groups(steadily(4, 3*time.Second))
	one.exact, two.exact, one.attempts, two.attempts = true, true, 4, 4
	one.publish(series(10, "a")...)
	r, s := w.start(of(one, fails(3))), w.start(of(two, fails(2)))
	time.Sleep(4 * time.Second)
	r.mustEnd()
	assert.Equal(w, one.acks(), 10)
	s.mustEnd()
	assert.Equal(w, two.acks(), 10)
}
