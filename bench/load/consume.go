package load

import (
	"context"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/matrix"
)

// shape is how the consumers of a cell are made of workers and lanes.
type shape struct {
	workers     int
	concurrency int
}

// handlers is how many there are at once.
func (s shape) handlers() int { return s.workers * s.concurrency }

func shapeOf(s *matrix.Spec) shape {
	switch {
	case s.Workers > 0:
		return shape{s.Workers, max(1, s.Consumers/s.Workers)}
	case s.Flow == matrix.Broadcast:
		return shape{1, 1} // of each reader
	case s.Flow == matrix.Batch || s.Flow == matrix.Group || s.Flow == matrix.Transaction:
		return shape{s.Consumers, 1} // a worker handles one batch at a time, and is one member of a group
	default:
		return shape{1, s.Consumers}
	}
}

// A counted handler notes each message in the lane of its own.
type counted[T any] struct {
	ledger *ledger.Ledger
	gate   *gate
	id     func(v *T) uint32
	keys   *ledger.Keys // nil where keys have no order
	work   work         // nil does nothing
	clock  func() int64 // nil where no times are noted
}

// lane returns a new lane, whose first message waits at the gate.
func (c *counted[T]) lane() *ledger.Lane { return c.ledger.Lane(c.gate.hold) }

// single handles messages one by one.
func (c *counted[T]) single() wherry.Handler[T] {
	lanes, id, work, clock := ledger.NewFinder[wherry.Message[T]](c.lane), c.id, c.work, c.clock
	switch {
	case clock != nil:
		return func(ctx context.Context, m *wherry.Message[T]) wherry.Outcome {
			at, number := clock(), id(&m.Value)
			lanes.Lane(m).NoteAt(number, at)
			if work != nil {
				work(ctx, number)
			}
			return wherry.Ack()
		}
	case c.keys != nil:
		keys := c.keys
		return func(ctx context.Context, m *wherry.Message[T]) wherry.Outcome {
			number := id(&m.Value)
			if work != nil {
				work(ctx, number)
			}
			keys.Note(number)
			lanes.Lane(m).Note(number)
			return wherry.Ack()
		}
	case work != nil:
		return func(ctx context.Context, m *wherry.Message[T]) wherry.Outcome {
			number := id(&m.Value)
			work(ctx, number)
			lanes.Lane(m).Note(number)
			return wherry.Ack()
		}
	default:
		return func(_ context.Context, m *wherry.Message[T]) wherry.Outcome {
			lanes.Lane(m).Note(id(&m.Value))
			return wherry.Ack()
		}
	}
}

// batch handles many at a time. Its lanes are held after the first batch, all of which has been decoded by then.
func (c *counted[T]) batch() wherry.BatchHandler[T] {
	lanes := ledger.NewFinder[wherry.MessageBatch[T]](func() *ledger.Lane { return c.ledger.Lane(nil) })
	return func(ctx context.Context, b *wherry.MessageBatch[T]) wherry.Outcome {
		lane := lanes.Lane(b)
		if c.work != nil {
			c.work(ctx, c.id(&b.Message(0).Value))
		}
		var at int64
		if c.clock != nil {
			at = c.clock()
		}
		for i := range b.Len() {
			if id := c.id(&b.Message(i).Value); c.clock != nil {
				lane.NoteAt(id, at)
			} else {
				lane.Note(id)
			}
		}
		lane.Tell()
		c.gate.holdOnce(lane)
		return wherry.Ack()
	}
}

// consumer is a consumer of a source, as a spec shapes it.
func (c *counted[T]) consumer(s *matrix.Spec, source wherry.Source[T]) *wherry.Consumer {
	form := shapeOf(s)
	common := []wherry.ConsumerOption{wherry.Workers(form.workers)}
	if s.Prefetch > 0 {
		common = append(common, wherry.Prefetch(s.Prefetch))
	}
	if s.Flow == matrix.Batch {
		opts := []wherry.BatchOption{wherry.BatchSize(s.BatchSize), wherry.BatchAge(s.BatchAge)}
		for _, o := range common {
			opts = append(opts, o)
		}
		return wherry.ConsumeBatch(source, c.batch(), opts...)
	}
	opts := []wherry.ConsumeOption{wherry.Concurrency(form.concurrency)}
	for _, o := range common {
		opts = append(opts, o)
	}
	return wherry.Consume(source, c.single(), opts...)
}

// keysOf watches the order of the keys of a spec, if it has any.
func keysOf(s *matrix.Spec) *ledger.Keys {
	if s.Keys == 0 {
		return nil
	}
	return ledger.NewKeys(s.Keys)
}

// judge says what became of the messages, which were published in so many streams.
func (c *counted[T]) judge(s *matrix.Spec, messages int64, streams int) document.Ledger {
	if s.Keys > 0 {
		streams = s.Keys
	}
	l := c.ledger.Judge(messages, ledger.Order{Promised: s.Ordered, Streams: streams})
	if c.keys != nil {
		l.Reordered = max(l.Reordered, c.keys.Reordered()) // The ledger sees each lane by itself.
	}
	return l
}
