package load

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
)

// publish measures windows of publishing with no consumer, by as many publishing goroutines as the cell has consumers. What
// arrived is looked at after each, by one handler.
func publish[T any](ctx context.Context, s *stage, b body[T]) Report {
	return repeated(&s.order, func(bool) Report { return publishedOnce(ctx, s, &b) })
}

func publishedOnce[T any](ctx context.Context, s *stage, b *body[T]) Report {
	p, err := wherry.NewPublisher(ctx, s.relay, topicOf(s, b, b.codec))
	if err != nil {
		return failed(err.Error())
	}
	publishers := s.spec.Consumers
	errs := make([]error, publishers)
	var all sync.WaitGroup
	w := openWindow()
	for i := range publishers {
		all.Go(func() { errs[i] = publishSpan(ctx, p, b, span{i, s.order.Messages, publishers}, s.spec.BatchSize) })
	}
	all.Wait()
	run := w.close(int64(s.order.Messages), time.Time{})
	if err := errors.Join(errors.Join(errs...), p.Close(ctx)); err != nil {
		return failed("publish: " + err.Error())
	}
	var none *document.Reason
	if run.Ledger, none = arrived(ctx, s, b, publishers); none != nil {
		return Report{None: none}
	}
	return Report{Run: &run}
}

// A span is the numbers from, from+step, … below to.
type span struct{ from, to, step int }

// of are values with the numbers of the span. They are one value that changes.
func of[T any](n span, b *body[T], v *T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for id := n.from; id < n.to; id += n.step {
			b.number(v, uint32(id))
			if !yield(v) {
				return
			}
		}
	}
}

// publishSpan publishes the messages of a span, one by one or so many in a call.
func publishSpan[T any](ctx context.Context, p *wherry.Publisher[T], b *body[T], n span, batch int) error {
	v := b.fresh()
	if batch == 0 {
		for id := n.from; id < n.to; id += n.step {
			b.number(&v, uint32(id))
			if err := p.Publish(ctx, &v); err != nil {
				return err
			}
		}
		return nil
	}
	for n.from < n.to {
		part := span{n.from, min(n.to, n.from+batch*n.step), n.step}
		if err := p.PublishAll(ctx, of(part, b, &v)); err != nil {
			return err
		}
		n.from += batch * n.step
	}
	return nil
}

// arrived has one handler receive what was published, and says what became of it.
func arrived[T any](ctx context.Context, s *stage, b *body[T], publishers int) (document.Ledger, *document.Reason) {
	at, messages := s.place(), int64(s.order.Messages)
	c := &counted[T]{ledger: ledger.New(s.order.Messages), gate: newGate(1), id: b.id}
	v := start(ctx, wherry.Consume(sourceOf(s, b, b.filling), c.single()))
	defer v.stop() //nolint:errcheck // What it returns is judged below.
	defer c.gate.open()
	if err := s.barrier(ctx, c.gate, at, messages); err != nil {
		return document.Ledger{}, failed(err.Error()).None
	}
	c.gate.open()
	await(ctx, c.ledger, messages)
	err := v.stop()
	l := c.judge(s.spec, messages, publishers)
	return l, s.judge(ctx, l, at, err)
}
