package wherry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/wherryhq/wherry/driver"
)

// A TxPublisher publishes to one topic as part of the transaction of the message that a handler has in hand. It is declared
// by [NewTxPublisher], named by [Publishing], opened and closed by each consumer that it was named for, and has no use
// outside of a handler: there Publish fails. It may serve any number of consumers and is safe for concurrent use. The zero
// TxPublisher is refused at start.
type TxPublisher[T any] struct {
	topic *topicSpec[T]
	spec  publishSpec
}

// AnyTxPublisher is a [TxPublisher] of any type. Only those implement it.
type AnyTxPublisher interface{ output() txOutput }

// A txOutput is a publisher as its consumer sees it.
type txOutput interface {
	name() any
	mistakes() error
	open(ctx context.Context, b driver.Broker) (*publisherCore, error)
}

// NewTxPublisher declares a publisher. What is wrong with topic and options is reported by [Run], with the mistakes of the
// consumer.
func NewTxPublisher[T any](t TopicOf[T], opts ...TxPublishOption) *TxPublisher[T] {
	p := &TxPublisher[T]{}
	if t != nil {
		p.topic = t.topicOf()
	}
	for _, o := range opts {
		if o == nil {
			p.spec.failf("a publish option is nil")
			continue
		}
		o.applyTxPublish(&p.spec)
	}
	return p
}

// Publish encodes v and makes it part of the transaction of the message whose handler was called with ctx, or with the
// context that ctx was derived from. It returns at once: nil says that v is published when that message is settled, and not
// at all when its handler does not acknowledge it or the commit fails, after which the handler is called again. Nothing
// that the caller does makes v visible before.
//
// Its error always matches [ErrNotSent]: there is no transaction in ctx, its handler has returned, its consumer does not name
// the publisher, the message is over a limit ([ErrTooLarge]), or more than 64 MiB would be published ([ErrFull]). The latter
// is a failure of a handler that alone publishes more than that. Where the handlers of the transaction do so together, a
// message that is not acknowledged for it is released, which costs no attempt, and comes again in a smaller transaction. v is
// not kept and may be changed afterwards; it must not be nil.
func (p *TxPublisher[T]) Publish(ctx context.Context, v *T, opts ...MessageOption) error {
	if p == nil || p.topic == nil {
		return &Error{Op: "publish", Err: fmt.Errorf("%w: the publisher is nil or the zero value; make one with NewTxPublisher", ErrNotSent)}
	}
	if err := p.publish(ctx, v, opts); err != nil {
		return &Error{Op: "publish", Topic: p.topic.name, Err: err}
	}
	return nil
}

func (p *TxPublisher[T]) publish(ctx context.Context, v *T, opts []MessageOption) error {
	s, ok := ctx.Value(txKey{}).(*txScope)
	if !ok {
		return fmt.Errorf("%w: %w", ErrNotSent, errNoTx)
	}
	core := s.t.w.r.outputs[p]
	if core == nil {
		return fmt.Errorf("%w: consumer %q does not name the publisher: name it in its source, with Publishing",
			ErrNotSent, s.t.w.r.origin.Consumer)
	}
	e := core.take()
	if err := p.topic.encode(core, e, v, opts); err != nil {
		core.give(e)
		return err
	}
	if err := s.add(ctx, core, e); err != nil {
		core.give(e)
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return nil
}

func (p *TxPublisher[T]) output() txOutput {
	if p == nil {
		return (*TxPublisher[T])(nil)
	}
	return p
}

func (p *TxPublisher[T]) name() any { return p }

func (p *TxPublisher[T]) mistakes() error {
	if p == nil || p.topic == nil {
		return errors.New("a publisher of the transactions is nil or has no topic; make it with NewTxPublisher")
	}
	return errors.Join(p.topic.err(), errors.Join(p.spec.errs...))
}

// open opens it for one run of a consumer.
func (p *TxPublisher[T]) open(ctx context.Context, b driver.Broker) (*publisherCore, error) {
	c := &publisherCore{name: p.topic.name, spec: p.spec, contentType: p.topic.contentType}
	c.spec.settings = c.spec.over(p.topic.settings).filled()
	out, err := openOutlet(ctx, b, driver.Target{Topic: p.topic.driver(), Topology: c.spec.topology})
	if err != nil {
		return nil, fmt.Errorf("publisher to %s: %w", c.name, err)
	}
	if out.holder == nil {
		if err := out.openHolds(ctx); err != nil { // a delay must not fail the transaction
			return nil, errors.Join(err, out.close(ctx))
		}
	}
	c.out = out
	c.limit()
	c.prefix = rand.Uint64()
	c.pool.New = func() any { return c.newEncoding() }
	return c, nil
}

// A txScope is one handler call in a transaction: what it published, until it is known what became of its message.
type txScope struct {
	t  *txReceiver
	tx *openTx
	d  *driver.Delivery

	mu    sync.Mutex // guards the fields below
	over  bool       // the handler returned
	out   []txRecord
	bytes int64 // of those
}

// txRecord is a message that was encoded, by the publisher that it goes back to.
type txRecord struct {
	core *publisherCore
	e    *encoding
}

// scope begins a handler call.
func (t *txReceiver) scope(d *driver.Delivery) *txScope {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &txScope{t: t, tx: t.open, d: d}
}

// add notes a message that the handler published.
func (s *txScope) add(ctx context.Context, core *publisherCore, e *encoding) error {
	s.mu.Lock()
	if s.over || s.tx == nil {
		s.mu.Unlock()
		return errTxReturned
	}
	if ctx.Err() != nil { // asked here, since after the handler's return the context is the next one's
		s.mu.Unlock()
		return context.Cause(ctx)
	}
	size := int64(e.rec[0].Size())
	if s.bytes+size > mostTxBytes {
		s.mu.Unlock()
		return fmt.Errorf("%w: a handler may publish %d MiB in a transaction", ErrFull, mostTxBytes>>20)
	}
	if s.tx.bytes.Add(size) > mostTxBytes {
		s.tx.bytes.Add(-size)
		s.mu.Unlock()
		s.t.crowd(s.tx, s.d)
		return fmt.Errorf("%w: the handlers of the transaction have published %d MiB; the message comes again in a later one",
			ErrFull, mostTxBytes>>20)
	}
	s.out = append(s.out, txRecord{core, e})
	s.bytes += size
	s.mu.Unlock()
	return nil
}

// innermost stands around the handler alone: what it published in a call that it did not acknowledge is dropped, whatever a
// middleware makes of that, which may call it again.
func innermost[T any](h Handler[T]) Handler[T] {
	return func(ctx context.Context, m *Message[T]) Outcome {
		s, ok := ctx.Value(txKey{}).(*txScope)
		if !ok {
			return h(ctx, m)
		}
		mark, kept := s.mark(), false
		defer func() {
			if !kept { // it panicked, too
				s.drop(mark)
			}
		}()
		o := h(ctx, m)
		kept = o.kind == KindAck
		return o
	}
}

// mark is where a call of the handler begins, for drop.
func (s *txScope) mark() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.out)
}

// drop takes out what was published since mark, and gives its room to the other handlers of the transaction.
func (s *txScope) drop(mark int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(mark)
}

func (s *txScope) dropLocked(mark int) {
	if mark >= len(s.out) {
		return
	}
	var size int64
	for _, r := range s.out[mark:] {
		size += int64(r.e.rec[0].Size())
	}
	s.bytes -= size
	s.tx.bytes.Add(-size)
	giveAll(s.out[mark:])
	clear(s.out[mark:])
	s.out = s.out[:mark]
}

// finish keeps what the handler published if it acknowledged its message. What was refused for good before is a failure of
// the message, or its transaction would never commit.
func (s *txScope) finish(o Outcome) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	if o.kind != KindAck || len(s.out) == 0 {
		return o
	}
	if err := s.t.refusal(s.d); err != nil {
		return Retry(err)
	}
	if s.t.keep(s.tx, s.d, s.out) {
		s.out = nil
	}
	return o
}

// end drops what was not kept, also when the handler panicked.
func (s *txScope) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.dropLocked(0)
}

func giveAll(rs []txRecord) {
	for _, r := range rs {
		r.core.give(r.e)
	}
}
