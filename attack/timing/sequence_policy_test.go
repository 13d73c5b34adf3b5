package timing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Sequences under Block, FailAll and Park, whose keys stand still or stand aside.
func TestSequencePolicies(t *testing.T) {
	t.Parallel()
	attack(t, "block, stop, and go on with the same message", keeping(plain()), blockStopped)
	attack(t, "block in a broker that forgets, until the drain is over", plain(), blockAbandoned)
	attack(t, "block a key until nothing more fits, and mend it", plain(), blockUntilFull)
	attack(t, "block, and reject what is blocked while dead letters are full", queues(mem.Config{MaxDeadLetters: 1}), blockRejected)
	attack(t, "block under tenures that are lost, seed 31", plain(), blockRevoked)
	attack(t, "fail all in the drain, with more of the key coming", plain(), failAllInTheDrain)
	attack(t, "fail all, and a restart that knows of nothing", keeping(plain()), failAllRestarted)
	attack(t, "fail all while the connection is cut after the copy", plain(), failAllUnconfirmed)
	attack(t, "fail all over workers that end", watched(plain()), failAllOverWorkers)
	attack(t, "park, and redrive while the key still fails", plain(), parkRedrivenTooEarly)
	attack(t, "park, mend, and redrive while more is published", plain(), parkRedrivenWhilePublishing)
	attack(t, "park, and cut the redrive short", plain(), parkRedriveCutShort)
	attack(t, "park, stop in the middle of the redrive, and run again", keeping(plain()), parkStoppedInARedrive)
	attack(t, "park a key of which a batch of copies is refused", plain(), parkRefused)
}

// mending is a handler that rejects some item as long as broken says so.
func mending(n int, broken *atomic.Bool, o wherry.Outcome) wherry.Handler[item] {
	return func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		if err := wait(ctx, 20*time.Millisecond); err != nil {
			return wherry.Retry(err)
		}
		if m.Value.N == n && m.Value.Key == "bad" && broken.Load() {
			return o
		}
		return wherry.Ack()
	}
}

// flag is one that is set.
func flag() *atomic.Bool {
	var b atomic.Bool
	b.Store(true)
	return &b
}

func blockStopped(w *world) {
	b := w.sequence(wherry.Block)
	b.exact = true
	broken := flag()
	b.publish(series(6, "bad", "good")...)
	c := b.inOrder(wherry.Block, mending(2, broken, wherry.Retry(errTry)))
	for range 3 {
		r := w.start(c)
		time.Sleep(10 * time.Second)
		r.mustEnd()
		assert.Equal(w, b.acks(), 8)
	}
	broken.Store(false)
	r := w.start(c)
	time.Sleep(10 * time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 12)
}

func blockAbandoned(w *world) {
	w.within = 5*time.Second + 2*grace
	b := w.sequence(wherry.Block)
	b.exact = true
	b.publish(series(6, "bad", "good")...)
	r := w.start(b.inOrder(wherry.Block, mending(2, flag(), wherry.Retry(errTry)), wherry.DrainTime(5*time.Second)))
	time.Sleep(10 * time.Second)
	r.endLeaving(0, 4)
}

func blockUntilFull(w *world) {
	b := w.book("s", steadily(2, time.Second))
	b.exact, b.ordered, b.alone, b.attempts = true, true, true, 0
	broken := flag()
	c := wherry.Consume(wherry.Sequence(w.broker, b.topic, wherry.OnFailure(wherry.Block), wherry.WaitingAtMost(5, 10, 1<<20)),
		b.handler(mending(0, broken, wherry.Retry(errTry))), wherry.Prefetch(20))
	r := w.start(c)
	b.publish(series(50, "bad")...)
	b.publish(series(50, "good")...)
	time.Sleep(time.Minute)
	assert.True(w, strings.Contains(c.Health().Cause, "bad"), "health names the key: "+c.Health().Cause)
	broken.Store(false)
	time.Sleep(time.Minute)
	assert.Equal(w, c.Health().Cause, "")
	r.mustEnd()
	assert.Equal(w, b.acks(), 100)
}

func blockRejected(w *world) {
	b := w.sequence(wherry.Block)
	broken := flag()
	b.publish(series(3, "bad", "good")...)
	h := mending(0, broken, wherry.Reject(errTry))
	r := w.start(b.inOrder(wherry.Block, func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Value == (item{"good", 1}) {
			return wherry.Reject(errTry)
		}
		return h(ctx, m)
	}))
	time.Sleep(10 * time.Second)
	assert.Equal(w, b.letters(), 1) // and either key waits for room
	for m, err := range wherry.Pull(w.Context(), wherry.Queue(w.broker, wherry.DeadLetters(b.topic))) {
		assert.NoError(w, err)
		b.excuseLetter(m.Value.Value)
		m.Settle(wherry.Ack())
		break
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 4)
	assert.Equal(w, b.letters(), 1)
}

// excuseLetter excuses a message of which the try took the dead letter.
func (b *book) excuseLetter(it item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.excused[it] = true
}

func blockRevoked(w *world) {
	w.seed(31)
	b := w.sequence(wherry.Block)
	b.alone = false
	b.publish(series(15, "a", "b", "c", "d")...)
	r := w.start(b.inOrder(wherry.Block, func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
		if err := wait(ctx, w.ms(30)); err != nil {
			return wherry.Retry(err)
		}
		if w.roll(5) == 0 {
			return wherry.Retry(errTry)
		}
		return wherry.Ack()
	}, wherry.Concurrency(2), wherry.Workers(2), steadily(1, 40*time.Millisecond), wherry.MaxDelivered(100_000)))
	for b.waits() > 0 {
		time.Sleep(50*time.Millisecond + w.ms(100))
		w.faults().Revoke("s", time.Duration(w.roll(2))*20*time.Millisecond)
	}
	r.mustEnd()
	assert.Equal(w, b.acks(), 60)
}

func failAllInTheDrain(w *world) {
	b := w.sequence(wherry.FailAll)
	b.exact = true
	b.publish(series(30, "bad", "good")...)
	r := w.start(b.inOrder(wherry.FailAll, mending(10, flag(), wherry.Reject(errTry))))
	time.Sleep(100 * time.Millisecond)
	r.stop()
	time.Sleep(300 * time.Millisecond)
	for n := 30; n < 40; n++ {
		b.publish(item{"bad", n}, item{"good", n})
	}
	r.mustEnd()
	assert.Equal(w, b.acks(), 10+40)
	assert.Equal(w, b.letters(), 30)
}

func failAllRestarted(w *world) {
	b := w.sequence(wherry.FailAll)
	b.exact = true
	b.publish(series(5, "bad")...)
	broken := flag()
	c := b.inOrder(wherry.FailAll, mending(2, broken, wherry.Retry(errTry)))
	r := w.start(c)
	time.Sleep(10 * time.Second)
	r.mustEnd()
	assert.Equal(w, b.letters(), 3)
	b.ordered, b.setAside = false, false // a new run knows of nothing that was set aside
	b.publish(item{"bad", 5})
	r = w.start(c)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 3)
	assert.Equal(w, b.letters(), 3)
}

func failAllUnconfirmed(w *world) {
	b := w.sequence(wherry.FailAll)
	b.publish(series(20, "bad", "good")...)
	w.faults().CutAfter("s.dlq", 5)
	w.faults().CutAfterSettle("s", 8)
	r := w.start(b.inOrder(wherry.FailAll, mending(4, flag(), wherry.Reject(errTry))))
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 24)
	assert.True(w, b.letters() >= 16, fmt.Sprint(b.letters()))
}

func failAllOverWorkers(w *world) {
	b := w.sequence(wherry.FailAll)
	r := w.start(b.inOrder(wherry.FailAll, mending(2, flag(), wherry.Reject(errTry)), wherry.Workers(3)))
	b.publish(series(5, "bad", "good")...)
	for n := range 5 {
		time.Sleep(5 * time.Second)
		w.stand.kill(w, "s", n)
		time.Sleep(time.Second)
		b.publish(item{"bad", 5 + n}, item{"good", 5 + n})
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 2+10)
	assert.Equal(w, b.letters(), 8)
}

func parkRedrivenTooEarly(w *world) {
	b := w.sequence(wherry.Park)
	b.exact = true
	b.ordered, b.setAside = false, false // a redriven message that fails again is behind the others
	broken := flag()
	b.publish(series(20, "bad", "good")...)
	r := w.start(b.inOrder(wherry.Park, mending(3, broken, wherry.Reject(errTry))))
	time.Sleep(10 * time.Second)
	assert.Equal(w, b.letters(), 17)
	for range 3 {
		_, err := wherry.Redrive(w.Context(), w.broker, b.topic)
		assert.NoError(w, err)
		time.Sleep(10 * time.Second)
	}
	assert.Equal(w, b.acks(), 39)
	broken.Store(false)
	_, err := wherry.Redrive(w.Context(), w.broker, b.topic)
	assert.NoError(w, err)
	time.Sleep(10 * time.Second)
	b.publish(item{"bad", 20})
	time.Sleep(time.Second)
	assert.Equal(w, b.acks(), 41)
	r.mustEnd()
}

func parkRedrivenWhilePublishing(w *world) {
	b := w.sequence(wherry.Park)
	b.exact = true
	broken := flag()
	b.publish(series(20, "bad", "good")...)
	r := w.start(b.inOrder(wherry.Park, mending(3, broken, wherry.Reject(errTry)), wherry.Workers(2), wherry.Concurrency(2)))
	time.Sleep(10 * time.Second)
	broken.Store(false)
	redriving := w.beside(func(ctx context.Context) error {
		_, err := wherry.Redrive(context.WithoutCancel(ctx), w.broker, b.topic, wherry.RedriveRate(20))
		return err
	})
	for n := 20; n < 60; n++ {
		b.publish(item{"bad", n}, item{"good", n})
		time.Sleep(25 * time.Millisecond)
	}
	redriving.mustEnd()
	for range 5 { // what came meanwhile is parked behind, and comes back with the next
		_, err := wherry.Redrive(w.Context(), w.broker, b.topic)
		assert.NoError(w, err)
		time.Sleep(10 * time.Second)
	}
	r.mustEnd()
	assert.Equal(w, b.acks(), 120)
	assert.Equal(w, b.letters(), 0)
}

func parkRedriveCutShort(w *world) {
	b := w.sequence(wherry.Park)
	broken := flag()
	b.publish(series(100, "bad")...)
	r := w.start(b.inOrder(wherry.Park, mending(0, broken, wherry.Reject(errTry))))
	time.Sleep(10 * time.Second)
	assert.Equal(w, b.letters(), 100)
	broken.Store(false)
	for n := range 3 {
		ctx, stop := context.WithTimeout(w.Context(), 500*time.Millisecond)
		_, err := wherry.Redrive(ctx, w.broker, b.topic, wherry.RedriveRate(50))
		stop()
		assert.ErrorIs(w, err, context.DeadlineExceeded)
		b.publish(item{"bad", 100 + n})
	}
	for range 3 {
		_, err := wherry.Redrive(w.Context(), w.broker, b.topic)
		assert.NoError(w, err)
		time.Sleep(10 * time.Second)
	}
	r.mustEnd()
	assert.Equal(w, b.acks(), 103)
	assert.Equal(w, b.letters(), 0)
}

func parkStoppedInARedrive(w *world) {
	b := w.sequence(wherry.Park)
	b.setAside = false // after the restart the key goes on with what comes
	broken := flag()
	b.publish(series(60, "bad", "good")...)
	c := b.inOrder(wherry.Park, mending(0, broken, wherry.Reject(errTry)))
	r := w.start(c)
	time.Sleep(10 * time.Second)
	broken.Store(false)
	redriving := w.beside(func(ctx context.Context) error {
		_, err := wherry.Redrive(ctx, w.broker, b.topic, wherry.RedriveRate(30))
		return err
	})
	time.Sleep(time.Second)
	r.mustEnd()
	time.Sleep(time.Second)
	if err := redriving.end(); err != nil {
		assert.ErrorIs(w, err, context.Canceled)
	}
	r = w.start(c)
	_, err := wherry.Redrive(w.Context(), w.broker, b.topic)
	assert.NoError(w, err)
	time.Sleep(10 * time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 120)
}

func parkRefused(w *world) {
	b := w.sequence(wherry.Park)
	b.exact = true
	b.publish(series(40, "bad", "good")...)
	w.faults().FailSend("s.dlq", 5, errors.New("no permission"))
	r := w.start(b.inOrder(wherry.Park, mending(1, flag(), wherry.Reject(errTry)), wherry.Concurrency(4)))
	time.Sleep(3 * time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 41)
	assert.Equal(w, b.letters(), 39)
}
