package load

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/matrix"
)

// broadcast measures windows of readers that each get everything. Since a reader sees what is published after it was opened, the
// readers are there before the corpus, and paused until it is complete. Each has a handler and a consumer of its own.
func broadcast[T any](ctx context.Context, s *stage, b body[T]) Report {
	return repeated(&s.order, func(bool) Report { return broadcastOnce(ctx, s, &b) })
}

func broadcastOnce[T any](ctx context.Context, s *stage, b *body[T]) Report {
	readers, corpus := s.spec.Consumers, s.order.Messages
	messages := int64(readers) * int64(corpus)
	all, gate := ledger.New(int(messages)), newGate(readers)
	topic := topicOf(s, b, b.codec)
	var consumers []*wherry.Consumer
	var runners []wherry.Runner
	var resumes []func()
	for i := range readers {
		// The messages of a reader have numbers of their own.
		own := uint32(i * corpus)
		c := &counted[T]{ledger: all, gate: gate, id: func(v *T) uint32 { return own + b.id(v) }, work: s.work}
		consumer := c.consumer(s.spec, wherry.Broadcast(s.relay, topic))
		consumers, runners = append(consumers, consumer), append(runners, consumer)
		resumes = append(resumes, consumer.Pause("the corpus is published"))
	}
	v := start(ctx, wherry.Join(runners...))
	defer v.stop() //nolint:errcheck // What it returns is judged below.
	defer gate.open()
	if err := paused(ctx, consumers); err != nil {
		return failed(err.Error())
	}
	if err := fill(ctx, s, b, 0, corpus); err != nil {
		return failed("fill: " + err.Error())
	}
	for _, resume := range resumes {
		resume()
	}
	if err := s.barrier(ctx, gate, s.place(), messages); err != nil {
		return failed(err.Error())
	}
	passed := all.Told()
	if 2*passed >= messages {
		return failed(errFew.Error())
	}
	w := openWindow()
	gate.open()
	await(ctx, all, messages)
	run := w.close(messages-passed, time.Time{})
	err := v.stop()
	if end := all.Last(); !end.IsZero() {
		run.ElapsedNS = int64(end.Sub(w.begun))
	}
	run.Ledger = all.Judge(messages, ledger.Order{Promised: s.spec.Ordered})
	if none := s.judge(ctx, run.Ledger, s.place(), err); none != nil {
		return Report{None: none}
	}
	return Report{Run: &run}
}

// paused waits until every consumer is open, and paused.
func paused(ctx context.Context, consumers []*wherry.Consumer) error {
	limit := time.Now().Add(patience)
	for _, c := range consumers {
		for c.Health().State != wherry.StatePaused {
			if ctx.Err() != nil || time.Now().After(limit) {
				return fmt.Errorf("a reader is %s and not paused after %v", c.Health().State, patience)
			}
			time.Sleep(look)
		}
	}
	return nil
}

// readersOf is how many get each message.
func readersOf(s *matrix.Spec) int {
	if s.Flow == matrix.Broadcast && s.Method == document.Drain {
		return s.Consumers
	}
	return 1
}
