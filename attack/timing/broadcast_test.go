package timing_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Broadcast readers, for whom the broker keeps nothing.
func TestBroadcasts(t *testing.T) {
	t.Parallel()
	attack(t, "stop while a message waits for its retry in memory", plain(), broadcastStoppedInARetry)
	attack(t, "give up in the drain", plain(), broadcastGivesUpInTheDrain)
	attack(t, "a reader comes while another drains", plain(), broadcastJoinedInADrain)
	attack(t, "one of two readers is abandoned", plain(), broadcastAbandoned)
	attack(t, "a reader is too slow, and stops", queues(mem.Config{MaxBroadcast: 10}), broadcastTooSlow)
	attack(t, "the connection dies under a reader with retries", plain(), broadcastHardCut)
	attack(t, "topics vanish under a paused reader", plain(), broadcastWiped)
	attack(t, "a reader of a log begins at the head while a group crashes", watched(logs(4)), broadcastFromHead)
}

// read is a consumer of a broadcast.
func (b *book) read(h wherry.Handler[item], opts ...wherry.ConsumeOption) *wherry.Consumer {
	return wherry.Consume(wherry.Broadcast(b.w.broker, b.topic), b.handler(h), opts...)
}

func broadcastStoppedInARetry(w *world) {
	b := w.reader(fanout("f"))
	r := w.start(b.read(fails(2), steadily(3, 5*time.Second)))
	time.Sleep(time.Second)
	b.publish(series(10, "a")...)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
}

func broadcastGivesUpInTheDrain(w *world) {
	b := w.reader(fanout("f"))
	b.attempts = 3
	var ev listener
	r := w.start(b.read(fails(9), steadily(3, 5*time.Second), wherry.OnEvent(ev.hear)))
	time.Sleep(time.Second)
	b.publish(series(10, "a")...)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, len(heard[*wherry.Dropped](&ev)), 10)
}

func broadcastJoinedInADrain(w *world) {
	t := fanout("f")
	one, two := w.reader(t), w.reader(t)
	r := w.start(one.read(takes(time.Second)))
	time.Sleep(time.Second)
	one.publish(series(10, "a")...)
	two.excuse() // it is not there yet
	time.Sleep(500 * time.Millisecond)
	r.stop()
	s := w.start(two.read(ack))
	time.Sleep(500 * time.Millisecond)
	one.publish(series(5, "b")...)
	r.mustEnd()
	s.mustEnd()
	assert.Equal(w, one.acks(), 15)
	assert.Equal(w, two.acks(), 5)
}

func broadcastAbandoned(w *world) {
	w.within = 2*time.Second + 2*grace
	t := fanout("f")
	one, two := w.reader(t), w.reader(t)
	let := make(chan struct{})
	r := w.start(one.read(func(context.Context, *wherry.Message[item]) wherry.Outcome {
		<-let
		return wherry.Ack()
	}, wherry.DrainTime(2*time.Second)), two.read(ack, wherry.DrainTime(2*time.Second)))
	time.Sleep(time.Second)
	one.publish(series(5, "a")...)
	time.Sleep(time.Second)
	r.endLeaving(1, 4)
	close(let)
	time.Sleep(time.Second)
	assert.Equal(w, two.acks(), 5)
}

func broadcastTooSlow(w *world) {
	b := w.reader(fanout("f"))
	r := w.start(b.read(takes(time.Second), wherry.Prefetch(5)))
	time.Sleep(time.Second)
	for n := range 100 {
		b.publish(item{"a", n})
		time.Sleep(50 * time.Millisecond)
	}
	r.mustEnd()
	assert.True(w, w.mem.Missed("f") > 0, "it was too slow")
	assert.Equal(w, b.acks()+int(w.mem.Missed("f")), 100)
}

func broadcastHardCut(w *world) {
	b := w.reader(fanout("f"))
	r := w.start(b.read(failsAt(3, 2), steadily(5, time.Second), wherry.Concurrency(2)))
	time.Sleep(time.Second)
	for n := range 5 {
		b.publish(series(8, string(rune('a'+n)))...)
		time.Sleep(300 * time.Millisecond)
		w.faults().Disconnect(mem.HardCut)
		time.Sleep(2 * time.Second)
		w.faults().Reconnect()
		time.Sleep(time.Second)
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 40)
}

func broadcastWiped(w *world) {
	b := w.reader(fanout("f"))
	c := b.read(ack)
	r := w.start(c)
	time.Sleep(time.Second)
	resume := c.Pause("while topics vanish")
	b.publish(series(5, "a")...)
	time.Sleep(time.Second)
	w.wipe()
	time.Sleep(time.Second)
	resume()
	time.Sleep(5 * time.Second)
	b.publish(series(5, "b")...)
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.acks(), 5)
}

func broadcastFromHead(w *world) {
	t := fanout("f", "g")
	g, head := w.groupBook("g", t), w.reader(t)
	g.publish(series(20, "a", "b")...)
	r := w.start(wherry.Consume(wherry.Group(w.broker, "g", t), g.handler(takes(100*time.Millisecond)),
		wherry.Workers(2), wherry.Prefetch(2)))
	for n := range 4 {
		time.Sleep(330 * time.Millisecond)
		w.stand.kill(w, "f", n)
		g.publish(item{"c", n})
	}
	s := w.start(wherry.Consume(wherry.Broadcast(w.broker, t, wherry.FromHead()), head.handler(takes(10*time.Millisecond))))
	g.publish(item{"c", 4})
	time.Sleep(time.Minute)
	s.mustEnd()
	r.mustEnd()
	assert.Equal(w, g.acks(), 45)
	assert.Equal(w, head.acks(), 45)
	if _, ok := errors.AsType[*wherry.AbandonedError](r.err); ok {
		w.Error("something was left")
	}
}
