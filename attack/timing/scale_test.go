package timing_test

import (
	"context"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Workers that come and go at bad moments.
func TestScaling(t *testing.T) {
	t.Parallel()
	attack(t, "fewer while every handler works, and stop", keeping(plain()), scaleDownAndStop)
	attack(t, "more while the broker is slow to open, and stop", watched(plain()), scaleUpAndStop)
	attack(t, "fewer while dead letters are refused", plain(), scaleDownRefused)
	attack(t, "fewer while batches are collected", plain(), scaleDownBatches)
	attack(t, "fewer and more over the keys of a sequence, seed 61", plain(), scaleSequence)
	attack(t, "more while it is paused", plain(), scalePaused)
	attack(t, "a worker that leaves hangs, and the stop abandons it", plain(), scaleAbandons)
	attack(t, "up and down while the connection dies, seed 62", plain(), scaleCuts)
	attack(t, "up and down over the partitions of a log, seed 63", logs(4), scaleLog)
}

func scaleDownAndStop(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(40, "a")...)
	var d dial
	r := w.start(b.named(takes(5*time.Second), wherry.Concurrency(2), d.between(1, 4), wherry.Prefetch(2)))
	d.want.Store(4)
	time.Sleep(6 * time.Second)
	d.want.Store(1)
	time.Sleep(time.Second) // in the hands of those that leave
	r.mustEnd()
	assert.Equal(w, b.acks()+b.waits(), 40)
}

func scaleUpAndStop(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(10, "a")...)
	var d dial
	r := w.start(b.named(takes(100*time.Millisecond), d.between(1, 4)))
	time.Sleep(50 * time.Millisecond)
	w.stand.opening(func(ctx context.Context) error { return wait(ctx, time.Hour) })
	d.want.Store(4)
	time.Sleep(200 * time.Millisecond)
	r.mustEnd()
	w.stand.opening(nil)
	assert.Equal(w, b.acks(), 10)
}

func scaleDownRefused(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(30, "a")...)
	w.faults().FailSend("q.dlq", -1, nil)
	var d dial
	r := w.start(b.named(func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Value.N%2 == 0 {
			return wherry.Reject(errTry)
		}
		return wherry.Ack()
	}, d.between(1, 4), wherry.Prefetch(4)))
	d.want.Store(4)
	time.Sleep(time.Second)
	d.want.Store(1)
	time.Sleep(time.Minute) // longer than one that leaves waits for its copies
	w.faults().FailSend("q.dlq", 0, nil)
	time.Sleep(5 * time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 15)
	assert.Equal(w, b.letters(), 15)
}

func scaleDownBatches(w *world) {
	b := w.book("q")
	b.exact = true
	var d dial
	r := w.start(b.batches(ackBatch, d.between(1, 4)))
	d.want.Store(4)
	for n := range 12 {
		time.Sleep(time.Second)
		b.publish(item{"a", n}, item{"b", n})
		d.want.Store(int64(1 + n%4))
	}
	time.Sleep(5 * time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 24)
}

func scaleSequence(w *world) {
	w.seed(61)
	b := w.sequence(wherry.Skip)
	b.exact, b.attempts = true, 0
	b.publish(series(60, "a", "b", "c", "d", "e")...)
	var d dial
	r := w.start(b.inOrder(wherry.Skip, func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
		if wait(ctx, w.ms(15)) != nil || w.roll(10) == 0 {
			return wherry.Retry(errTry)
		}
		return wherry.Ack()
	}, d.between(1, 5), wherry.Concurrency(2), wherry.Prefetch(20), steadily(1000, 30*time.Millisecond)))
	for range 40 {
		time.Sleep(w.ms(60))
		d.want.Store(int64(1 + w.roll(5)))
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 300)
}

func scalePaused(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(20, "a")...)
	var d dial
	c := b.named(takes(time.Second), d.between(1, 4))
	r := w.start(c)
	time.Sleep(500 * time.Millisecond)
	resume := c.Pause("nothing changes meanwhile")
	d.want.Store(4)
	time.Sleep(time.Minute)
	assert.Equal(w, c.Health().Workers, 1)
	resume()
	r.mustEnd()
	assert.Equal(w, b.acks(), 20)
}

func scaleAbandons(w *world) {
	w.within = 3*time.Second + 2*grace
	b := w.book("q")
	b.publish(series(8, "a")...)
	let := make(chan struct{})
	var d dial
	r := w.start(b.named(func(context.Context, *wherry.Message[item]) wherry.Outcome {
		<-let
		return wherry.Ack()
	}, d.between(1, 4), wherry.Prefetch(1), wherry.DrainTime(3*time.Second)))
	d.want.Store(4)
	time.Sleep(time.Second)
	d.want.Store(1)
	time.Sleep(time.Minute)
	r.endLeaving(4, 4)
	close(let)
	time.Sleep(time.Second)
	assert.Equal(w, b.waits(), 8)
}

func scaleCuts(w *world) {
	w.seed(62)
	b := w.book("q", steadily(1000, 50*time.Millisecond))
	b.attempts = 0
	b.publish(series(200, "a")...)
	var d dial
	r := w.start(b.named(func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
		if wait(ctx, w.ms(30)) != nil || w.roll(6) == 0 {
			return wherry.Retry(errTry)
		}
		return wherry.Ack()
	}, d.between(1, 5), wherry.Prefetch(10), wherry.MaxDelivered(10_000)))
	for range 30 {
		time.Sleep(20*time.Millisecond + w.ms(60))
		d.want.Store(int64(1 + w.roll(5)))
		if w.roll(3) == 0 {
			w.faults().Disconnect(mem.HardCut)
			time.Sleep(w.ms(200))
			w.faults().Reconnect()
		}
	}
	time.Sleep(2 * time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 200)
}

func scaleLog(w *world) {
	w.seed(63)
	b := w.sequence(wherry.Skip)
	b.attempts = 0
	b.publish(series(40, "a", "b", "c", "d", "e", "f")...)
	var d dial
	r := w.start(b.inOrder(wherry.Skip, func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
		if wait(ctx, w.ms(15)) != nil || w.roll(10) == 0 {
			return wherry.Retry(errTry)
		}
		return wherry.Ack()
	}, d.between(1, 5), wherry.Concurrency(2), steadily(1000, 30*time.Millisecond)))
	for range 30 {
		time.Sleep(w.ms(100))
		d.want.Store(int64(1 + w.roll(5)))
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 240)
}
