package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/ledger"
)

// live publishes and consumes at once: one publisher, and the handlers of the cell. Each handler has had one message before
// the window opens.
func live[T any](ctx context.Context, s *stage, b body[T]) Report {
	topic, at := topicOf(s, &b, b.codec), s.place()
	p, err := wherry.NewPublisher(ctx, s.relay, topic)
	if err != nil {
		return failed(err.Error())
	}
	handlers := shapeOf(s.spec).handlers()
	messages := handlers + s.order.Messages
	c := &counted[T]{ledger: ledger.New(messages), gate: newGate(handlers), id: b.id, work: s.work, keys: keysOf(s.spec)}
	v := start(ctx, c.consumer(s.spec, sourceOf(s, &b, b.codec)))
	defer v.stop() //nolint:errcheck // What it returns is judged below.
	defer c.gate.open()
	if err := warm(ctx, p, &b, c.gate); err != nil {
		return failed(err.Error())
	}
	if err := s.barrier(ctx, c.gate, at, int64(handlers)); err != nil {
		return failed(err.Error())
	}
	w := openWindow()
	c.gate.open()
	if err := publishSpan(ctx, p, &b, span{handlers, messages, 1}, s.spec.BatchSize); err != nil {
		return failed("publish: " + err.Error())
	}
	var end time.Time
	complete := await(ctx, c.ledger, int64(messages))
	if complete {
		end = c.ledger.Last()
	}
	run := w.close(int64(s.order.Messages), end)
	err = errors.Join(v.stop(), p.Close(ctx))
	if end = c.ledger.Last(); !complete && !end.IsZero() {
		run.ElapsedNS = int64(end.Sub(w.begun))
	}
	run.Round, run.PeakRSS = s.order.Round, host.PeakMemory()
	run.Ledger = c.judge(s.spec, int64(messages), 1)
	if none := s.judge(ctx, run.Ledger, at, err); none != nil {
		return Report{None: none}
	}
	return Report{Run: &run}
}

// warm gives each handler one message, one after another, so that none has what another waits for.
func warm[T any](ctx context.Context, p *wherry.Publisher[T], b *body[T], g *gate) error {
	for i := range cap(g.came) {
		if err := publishSpan(ctx, p, b, span{i, i + 1, 1}, 0); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		if err := g.wait(i+1, patience); err != nil {
			return err
		}
	}
	return nil
}
