package timing_test

import (
	"context"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Redrives beside all else, and holds of a broker that cannot delay.
func TestRedrivesAndHolds(t *testing.T) {
	t.Parallel()
	attack(t, "two redrives at once", plain(), redriveTwice)
	attack(t, "a redrive into a full queue is cut short", queues(mem.Config{MaxMessages: 10, MaxDeadLetters: 100}), redriveIntoFull)
	attack(t, "the filter of a redrive panics", plain(), redrivePanics)
	attack(t, "look at dead letters while they are redriven", plain(), redriveWhileLooking)
	attack(t, "redrive while the consumer drains", plain(), redriveInTheDrain)
	attack(t, "the connection dies under a redrive", plain(), redriveCut)
	attack(t, "stop while retries wait in holds of several steps", keeping(undelayed()), holdsOverRestarts)
	attack(t, "the copy out of a hold is written and not confirmed", undelayed(), holdUnconfirmed)
	attack(t, "settlements of holds are refused at the stop", keeping(undelayed()), holdSettlementsRefused)
	attack(t, "holds are full", queues(mem.Config{MaxDeadLetters: 3, Weak: mem.Weak{NoHold: true}}), holdsFull)
	attack(t, "the receivers of holds end, and the stop comes", watched(undelayed()), holdReceiversEnd)
}

// rejected publishes n messages, and has all of them rejected.
func (b *book) rejected(n int) {
	b.w.Helper()
	b.publish(series(n, "a")...)
	r := b.w.start(b.named(func(context.Context, *wherry.Message[item]) wherry.Outcome { return wherry.Reject(errTry) }))
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(b.w, b.letters(), n)
}

func redriveTwice(w *world) {
	b := w.book("q")
	b.exact = true
	b.rejected(200)
	moved := make(chan int, 2)
	for range 2 {
		go func() {
			done, err := wherry.Redrive(w.Context(), w.broker, b.topic, wherry.RedriveRate(50))
			assert.ErrorIs(w, err, nil)
			moved <- done.Moved
		}()
	}
	assert.Equal(w, <-moved+<-moved, 200)
	assert.Equal(w, b.waits(), 200)
}

func redriveIntoFull(w *world) {
	b := w.book("q")
	b.publish(series(10, "a")...)
	r := w.start(b.named(func(context.Context, *wherry.Message[item]) wherry.Outcome { return wherry.Reject(errTry) }))
	time.Sleep(time.Second)
	b.publish(series(10, "b")...)
	time.Sleep(time.Second)
	r.mustEnd()
	ctx, stop := context.WithTimeout(w.Context(), 5*time.Second)
	defer stop()
	_, err := wherry.Redrive(ctx, w.broker, b.topic)
	assert.ErrorIs(w, err, context.DeadlineExceeded)
	assert.Equal(w, b.waits(), 10)
	assert.True(w, b.letters() >= 10, "what found no room stays")
}

func redrivePanics(w *world) {
	b := w.book("q")
	b.exact = true
	b.rejected(20)
	func() {
		defer func() { assert.Equal(w, recover(), any("filter")) }()
		n := 0
		_, _ = wherry.Redrive(w.Context(), w.broker, b.topic, wherry.RedriveIf(func(wherry.DeadLetterInfo, wherry.AnyMessage) bool {
			if n++; n == 10 {
				panic("filter")
			}
			return true
		}))
	}()
	assert.Equal(w, b.waits()+b.letters(), 20)
}

func redriveWhileLooking(w *world) {
	b := w.book("q")
	b.exact = true
	b.rejected(100)
	seen := 0
	for m, err := range wherry.PeekDeadLetters(w.Context(), w.broker, b.topic) {
		assert.NoError(w, err)
		if seen++; seen == 30 {
			done, err := wherry.Redrive(w.Context(), w.broker, b.topic)
			assert.ErrorIs(w, err, nil)
			assert.True(w, done.Moved <= 70, "who looks has them meanwhile")
		}
		_ = m
	}
	done, err := wherry.Redrive(w.Context(), w.broker, b.topic)
	assert.NoError(w, err)
	assert.True(w, done.Moved >= 30, "and gives them back")
	assert.Equal(w, b.waits(), 100)
}

func redriveInTheDrain(w *world) {
	b := w.book("q")
	b.exact = true
	b.rejected(60)
	r := w.start(b.named(takes(200 * time.Millisecond)))
	b.publish(series(20, "b")...)
	time.Sleep(500 * time.Millisecond)
	r.stop()
	_, err := wherry.Redrive(w.Context(), w.broker, b.topic, wherry.RedriveRate(20)) // which ends as the drain goes on
	assert.NoError(w, err)
	r.endAnyhow()
	assert.Equal(w, b.acks()+b.waits(), 80)
	assert.Equal(w, b.letters(), 0)
}

func redriveCut(w *world) {
	b := w.book("q")
	b.rejected(50)
	w.faults().CutAfter("q", 5)
	w.faults().CutAfterSettle("q.dlq", 5)
	cut := time.AfterFunc(700*time.Millisecond, func() {
		w.faults().Disconnect(mem.HardCut)
		time.Sleep(time.Second)
		w.faults().Reconnect()
	})
	defer cut.Stop()
	for b.letters() > 0 {
		_, _ = wherry.Redrive(w.Context(), w.broker, b.topic, wherry.RedriveRate(25))
		time.Sleep(2 * time.Second)
	}
	assert.True(w, b.waits() >= 50, "all are back")
}

func holdsOverRestarts(w *world) {
	b := w.book("q", steadily(3, 5*time.Second)) // two steps
	b.exact, b.attempts = true, 3
	b.publish(series(20, "a")...)
	c := b.named(fails(2), wherry.Concurrency(2))
	for range 15 {
		r := w.start(c)
		time.Sleep(900 * time.Millisecond)
		r.mustEnd()
	}
	r := w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 20)
}

func holdUnconfirmed(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.attempts = 3
	b.publish(series(10, "a")...)
	r := w.start(b.named(fails(2)))
	time.Sleep(500 * time.Millisecond)
	w.faults().CutAfter("q", 4)
	w.faults().CutAfter("q.hold.800ms", 4)
	w.faults().CutAfterSettle("q.hold.800ms", 3)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.letters(), 0)
	assert.Equal(w, b.waits(), 0)
}

func holdSettlementsRefused(w *world) {
	w.within += 10 * time.Second
	b := w.book("q", steadily(3, time.Second))
	b.attempts = 3
	b.publish(series(10, "a")...)
	c := b.named(fails(1))
	r := w.start(c)
	time.Sleep(500 * time.Millisecond)
	w.faults().FailSettle("q.hold.800ms", -1)
	time.Sleep(5 * time.Second)
	_ = r.end()
	w.faults().Clear()
	r = w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.waits(), 0)
}

func holdsFull(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.exact, b.attempts = true, 3
	b.publish(series(30, "a")...)
	r := w.start(b.named(fails(2)))
	time.Sleep(10 * time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 30)
}

func holdReceiversEnd(w *world) {
	b := w.book("q", steadily(3, 3*time.Second))
	b.attempts = 3
	b.publish(series(10, "a")...)
	r := w.start(b.named(fails(2)))
	time.Sleep(time.Second)
	for n := range 3 {
		w.stand.kill(w, "q.hold.3_2s", n)
		w.stand.kill(w, "q.hold.800ms", n)
		time.Sleep(time.Second)
	}
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.waits(), 0)
}
