package wherry

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	defaultTxSize = 500
	defaultTxAge  = time.Second
	// mostTxBytes bounds what the handlers of one transaction may publish, together and each.
	mostTxBytes = 64 << 20
	// commitTimeout bounds a commit, which waits while a target is full.
	commitTimeout = 30 * time.Second
)

// Transacted is a source whose messages are handled in transactions: what a handler publishes by a [TxPublisher], the copy
// of a message that failed (retry or dead letter) and the settlement of the message itself happen in one act of the broker,
// or not at all. The topic must not be a fan-out.
//
// Each worker takes up to 500 messages into a transaction (see [TxAtMost]), runs their handlers, and commits exactly those
// that finished once none is in hand any more. What handlers published becomes visible with the commit, in the order of
// their messages. What a handler published that did not acknowledge is dropped. When the commit fails nothing of the
// transaction has happened, and all of its messages come again: effects outside the broker are then done twice.
//
// A tenure that the broker takes back ends the transaction: what is in hand may finish and is committed within the time
// that the broker leaves, and after that all of it is aborted.
//
// [Concurrency], retries, timeouts and the order of the stop are as for [Queue]. [Prefetch] is an error, since the size of a
// transaction is it, and so are batches and [Pull].
func Transacted[T any](b driver.Transactor, t TopicOf[T], opts ...TxOption) Source[T] {
	s := newTransacted(b, t, opts)
	if s.topic.fanout {
		s.spec.failf("the topic is a fan-out: consume it with GroupTransacted")
	}
	return s
}

// GroupTransacted is to [Group] what [Transacted] is to [Queue].
func GroupTransacted[T any](b driver.Transactor, g string, t TopicOf[T], opts ...TxOption) Source[T] {
	s := newTransacted(b, t, opts)
	s.spec.group = g
	if err := checkName(g); err != nil {
		s.spec.failf("group: %w", err)
	}
	if !s.topic.fanout {
		s.spec.failf("the topic is a queue: consume it with Transacted, or declare it with Fanout")
	}
	return s
}

func newTransacted[T any](b driver.Transactor, t TopicOf[T], opts []TxOption) Source[T] {
	s := newSource(t, nil)
	spec := s.spec
	spec.manner, spec.tx = transacted, txSpec{size: defaultTxSize, age: defaultTxAge}
	for _, o := range opts {
		if o == nil {
			spec.failf("a transaction option is nil")
			continue
		}
		o.applyTx(spec)
	}
	if isNil(b) {
		spec.failf("the broker is nil")
		return s
	}
	spec.broker = b
	spec.open = func(ctx context.Context, from driver.Source) (driver.Receiver, error) {
		r, err := b.OpenTransacted(ctx, from)
		if err != nil {
			return nil, err
		}
		return newTxReceiver(r, &spec.tx), nil
	}
	return s
}

// txSpec is what options of a transacted source set.
type txSpec struct {
	size    int
	age     time.Duration
	outputs []txOutput
}

type txOption func(*sourceSpec)

func (o txOption) applyTx(s *sourceSpec) { o(s) }

// TxAtMost bounds a transaction: the messages in it, and how long it is open before no further handler is called. Default
// 500 and 1 s. A [Concurrency] above the number of messages is lowered to it. Messages whose handlers have not been called by
// then come again, in a later transaction. Handlers in hand are always waited for, so that a transaction lasts as long as its
// slowest handler. Each worker has one transaction at a time.
func TxAtMost(messages int, age time.Duration) TxOption {
	return txOption(func(s *sourceSpec) {
		if messages < 1 {
			s.failf("a transaction has at most %d messages, want at least 1", messages)
		}
		if age <= 0 {
			s.failf("a transaction is open for at most %v, want more than 0", age)
		}
		s.tx.size, s.tx.age = messages, age
	})
}

// Publishing names the publishers by which the handlers of a transacted source publish. They are opened with its consumer.
func Publishing(ps ...AnyTxPublisher) TxOption {
	return txOption(func(s *sourceSpec) {
		for _, p := range ps {
			if p == nil {
				s.failf("a publisher of the transactions is nil")
				continue
			}
			out := p.output()
			if err := out.mistakes(); err != nil {
				s.errs = append(s.errs, err)
			}
			if slices.ContainsFunc(s.tx.outputs, func(other txOutput) bool { return other.name() == out.name() }) {
				s.failf("a publisher of the transactions is named twice")
				continue
			}
			s.tx.outputs = append(s.tx.outputs, out)
		}
	})
}

// openOutputs opens the publishers of the transactions.
func (r *running) openOutputs(ctx context.Context) error {
	s := r.c.source
	for _, out := range s.tx.outputs {
		core, err := out.open(ctx, s.broker)
		if err != nil {
			return err
		}
		if r.outputs == nil {
			r.outputs = make(map[any]*publisherCore)
		}
		r.outputs[out.name()] = core
	}
	return nil
}

// closeOutputs closes them.
func (r *running) closeOutputs(ctx context.Context) {
	for _, core := range r.outputs {
		core.closed.Store(true)
		core.clock.close()
		r.wasClosed(core.out.close(ctx))
	}
}

// txKey is what the context of a handler keeps the transaction of its message under.
type txKey struct{}

// bindTransacted is bindHandler for handlers whose context leads to the transaction of their message.
func bindTransacted[T any](t *topicSpec[T], h Handler[T], c *Consumer, chain []Middleware) laneFunc {
	var l *lane
	var d *driver.Delivery
	scoped := func(next Next) Next {
		return func(ctx context.Context, m AnyMessage) Outcome {
			s := l.w.tx.scope(d)
			defer s.end()
			return s.finish(next(context.WithValue(ctx, txKey{}, s), m))
		}
	}
	run := bindHandler(t, innermost(h), c, append([]Middleware{scoped}, chain...))
	return func(lane *lane, of *driver.Delivery) Outcome {
		l, d = lane, of
		return run(lane, of)
	}
}

var (
	errNoTx = errors.New(
		"the context is not one of a handler in a transaction: publish with the context that the handler was called with")
	errTxReturned = errors.New("the handler whose transaction it was has returned")
)
