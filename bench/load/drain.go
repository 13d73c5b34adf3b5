package load

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/driver"
)

// drain measures windows: it publishes the corpus with no consumer, starts the consumers, holds a barrier until every handler
// has a message, and measures from there until the last message was handled.
func drain[T any](ctx context.Context, s *stage, b body[T]) Report {
	if s.spec.Poisoned {
		return repeated(&s.order, func(bool) Report { return poisonedOnce(ctx, s, &b) })
	}
	if s.spec.Flow != matrix.DeadLetter {
		d := drains[T]{sourceOf(s, &b, b.codec), b.id, s.place()}
		return repeated(&s.order, func(first bool) Report { return drained(ctx, s, &b, d, first) })
	}
	dead := wherry.DeadLetters(topicOf(s, &b, b.codec))
	id := func(v *wherry.DeadLetter[T]) uint32 { return b.id(&v.Value) }
	at := driver.Source{Topics: []driver.Topic{{Name: dead.Name(), Role: driver.DeadLetter}}}
	d := drains[wherry.DeadLetter[T]]{wherry.Queue(s.relay, dead), id, at}
	return repeated(&s.order, func(first bool) Report { return drained(ctx, s, &b, d, first) })
}

// drains is where messages are drained from, and how they are known again.
type drains[V any] struct {
	source wherry.Source[V]
	id     func(v *V) uint32
	at     driver.Source
}

// corpus publishes what is to be drained, and has it become dead letters where those are drained.
func corpus[T any](ctx context.Context, s *stage, b *body[T]) error {
	if err := fill(ctx, s, b, 0, s.order.Messages); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	if s.spec.Flow != matrix.DeadLetter {
		return nil
	}
	if err := bury(ctx, s, topicOf(s, b, b.filling)); err != nil {
		return fmt.Errorf("make dead letters: %w", err)
	}
	return nil
}

// drained is one window. Of batches neither the first of each handler is timed nor as many at the end, where the last of a
// handler may wait for its age. The first window is where a consumer is stopped while it holds all that it may, if the order
// asks so.
func drained[T, V any](ctx context.Context, s *stage, b *body[T], d drains[V], first bool) Report {
	if err := corpus(ctx, s, b); err != nil {
		return failed(err.Error())
	}
	messages := int64(s.order.Messages)
	handlers, untimed := shapeOf(s.spec).handlers(), int64(0)
	if s.spec.Flow == matrix.Batch {
		untimed = int64(handlers * s.spec.BatchSize)
	}
	c := &counted[V]{
		ledger: ledger.NewTimed(int(messages), int(messages-untimed)), gate: newGate(handlers), id: d.id, work: s.work,
		keys: keysOf(s.spec),
	}
	v := start(ctx, c.consumer(s.spec, d.source))
	defer v.stop() //nolint:errcheck // What it returns is judged below.
	defer c.gate.open()
	if err := s.barrier(ctx, c.gate, d.at, messages); err != nil {
		return failed(err.Error())
	}
	passed := c.ledger.Told()
	if 2*passed >= messages || passed+untimed >= messages {
		return failed(errFew.Error())
	}
	w := openWindow()
	c.gate.open()
	reached := await(ctx, c.ledger, messages-untimed)
	run := w.close(messages-passed-untimed, time.Time{})
	complete := reached && await(ctx, c.ledger, messages)
	extra := &document.Extra{}
	stopped := first && s.order.Stop
	if complete && stopped {
		more := int64(s.spec.Prefetch * s.spec.Workers)
		if err := fill(ctx, s, b, int(messages), int(messages+more)); err != nil {
			return failed("fill: " + err.Error())
		}
		messages += more
	}
	begun := time.Now()
	err := v.stop()
	if stopped {
		extra.StopNS = int64(time.Since(begun))
	}
	if end := c.ledger.Last(); !end.IsZero() { // Nothing is written any more.
		run.ElapsedNS = int64(end.Sub(w.begun))
	}
	run.Ledger = c.judge(s.spec, messages, 1)
	if none := s.judge(ctx, run.Ledger, d.at, err); none != nil {
		return Report{None: none}
	}
	r := Report{Run: &run}
	if s.spec.Prefetch > 0 {
		extra.BusiestShare = c.ledger.Busiest()
		r.Extra = extra
	}
	return r
}
