package wherry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/wherryhq/wherry/driver"
)

const (
	// defaultPublishTimeout bounds a publish whose context has no deadline.
	defaultPublishTimeout = 30 * time.Second
	// maxKeptBuffer is the largest encode buffer that is kept for the next message.
	maxKeptBuffer = 64 << 10
	// publishChunk is how many records PublishAll sends in one call where the broker names no number.
	publishChunk = 256
)

// BatchError says what became of each message of a [Publisher.PublishAll] of which at least one failed.
type BatchError = driver.BatchError

// A Publisher publishes to one topic. It is safe for concurrent use and cheap per message; make one per topic and keep
// it. Concurrent publishes share round trips where the broker gains from it. It is made by [NewPublisher]; the zero Publisher
// publishes nothing, with [ErrNotSent].
type Publisher[T any] struct {
	topic *topicSpec[T]
	core  publisherCore
}

// mostCopied is the longest body that is copied while the broker is locked. A longer one is written into a buffer that becomes the
// broker's.
const mostCopied = 4 << 10

// publisherCore is the part that does not depend on the type.
type publisherCore struct {
	spec   publishSpec
	name   string
	out    *outlet
	accept driver.Accepter // nil where every message is sent, or is more than a body and a key
	join   *joiner         // nil where joining gains nothing
	clock  clock
	prefix uint64
	// maxRecord is the most bytes of a message, with room for its control data beside it; 0 is no limit. maxBody is the
	// most of one that is nothing but a body.
	maxRecord int
	maxBody   int
	numbers   atomic.Uint64 // how many are given out, to encodings
	pool      sync.Pool     // *encoding
	closed    atomic.Bool
	// contentType is what every record says.
	contentType string
}

// publishSpec is what options set.
type publishSpec struct {
	settings
	topology  driver.Topology
	timeout   time.Duration
	exactTime bool
}

// PublishTimeout bounds a publish whose context has no deadline, default 30 s. While the broker is away or full, a publish
// waits that long; its error then matches [context.DeadlineExceeded]. 0 and less are an error of [NewPublisher]. It does not fit
// [NewTxPublisher], whose Publish waits for nothing.
func PublishTimeout(d time.Duration) PublishOption {
	return publishOption(func(p *publishSpec) {
		if d <= 0 {
			p.failf("publish timeout is %v, want more than 0", d)
		}
		p.timeout = d
	})
}

// ExactStamps reads the clock for every message. Without it the time that a message was published at comes from a clock
// that is up to 2 ms behind.
func ExactStamps() PublisherOption { return exactStamps{} }

type exactStamps struct{}

func (exactStamps) applyPublish(p *publishSpec)   { p.exactTime = true }
func (exactStamps) applyTxPublish(p *publishSpec) { p.exactTime = true }

// NewPublisher opens a publisher, which declares the topic at the broker unless told otherwise. ctx bounds the opening
// only. All that is wrong with topic and options is reported together. Close it when done; the broker stays open.
func NewPublisher[T any](ctx context.Context, b driver.Broker, t TopicOf[T], opts ...PublishOption) (*Publisher[T], error) {
	p := &Publisher[T]{}
	if t != nil {
		p.topic = t.topicOf()
	}
	if p.topic == nil {
		return nil, &Error{Op: "publish", Err: errors.New("the topic is the zero value; make one with NewTopic")}
	}
	c := &p.core
	c.name = p.topic.name
	for _, o := range opts {
		if o == nil {
			c.spec.failf("a publish option is nil")
			continue
		}
		o.applyPublish(&c.spec)
	}
	errs := append([]error{p.topic.err()}, c.spec.errs...)
	if isNil(b) {
		errs = append(errs, errors.New("the broker is nil"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, mistakes("publish", c.name, err)
	}
	c.spec.settings = c.spec.over(p.topic.settings).filled()
	if c.spec.timeout == 0 {
		c.spec.timeout = defaultPublishTimeout
	}
	out, err := openOutlet(ctx, b, driver.Target{Topic: p.topic.driver(), Topology: c.spec.topology})
	if err != nil {
		return nil, &Error{Op: "publish", Topic: c.name, Err: err}
	}
	c.contentType = p.topic.contentType
	c.open(out)
	if c.join == nil && !p.topic.fanout { // one that goes to several groups cannot be handed over
		c.accept, _ = out.sender.(driver.Accepter)
	}
	return p, nil
}

func (c *publisherCore) open(out *outlet) {
	c.out = out
	c.limit()
	c.prefix = rand.Uint64()
	c.pool.New = func() any { return c.newEncoding() }
	if limits := out.limits; limits.Batch > 1 {
		c.join = newJoiner(out.deliver, limits, c.spec.timeout)
	}
}

// limit sets the limits, by options and by the broker.
func (c *publisherCore) limit() {
	if most := c.out.limits.MaxRecord; most > 0 {
		c.maxRecord = most - min(controlReserve, most/2) // a broker with tiny records still carries some
	}
	c.maxBody = c.spec.bodyLimit
	if c.maxRecord > 0 {
		c.maxBody = min(c.maxBody, c.maxRecord)
	}
	c.clock.exact = c.spec.exactTime
}

// Publish encodes v and returns nil when the broker has the message. Its error matches [ErrNotSent] when the broker
// certainly does not have it, [ErrUnconfirmed] when it may, [ErrTooLarge] when it is over a limit, and [ErrClosed] after
// Close. It waits, while the broker is away or an in-process queue is full, until ctx ends, and for 30 s where ctx has no
// deadline. v is not kept and may be changed afterwards; it must not be nil.
func (p *Publisher[T]) Publish(ctx context.Context, v *T, opts ...MessageOption) error {
	if p.core.accept != nil && len(opts) == 0 && p.accepted(ctx, v) {
		return nil
	}
	return p.publish(ctx, v, opts)
}

// accepted reports whether the broker took the message at once, which is the way of most messages in process. It says no
// for whatever reason: then publish does all of it, and finds the error where there is one.
func (p *Publisher[T]) accepted(ctx context.Context, v *T) bool {
	c := &p.core
	if v == nil || ctx.Err() != nil {
		return false
	}
	if p.topic.copies {
		if body, ok := any(v).(*[]byte); ok && len(*body) <= mostCopied {
			return len(*body) <= c.maxBody && c.accept.AcceptCopy(*body, c.contentType, c.clock.now())
		}
	}
	e := c.take()
	taken := false
	if body, err := p.topic.codec.Append(e.body[:0], v); err == nil {
		r := &e.rec[0]
		r.Body, r.ID.Seq, r.Control.Published = body, e.number(c), c.clock.now()
		if p.topic.key != nil {
			e.key = p.topic.key(e.key, v)
			r.Key = e.key
		}
		taken = len(body)+len(r.Key) <= c.maxBody && c.accept.Accept(r)
		e.body = r.Body
		if len(r.Key) > 0 || cap(e.body) > maxKeptBuffer {
			c.undress(e)
		}
	}
	c.pool.Put(e)
	return taken
}

// publish is Publish for every message, broker and state.
func (p *Publisher[T]) publish(ctx context.Context, v *T, opts []MessageOption) error {
	if p.topic == nil {
		return errNoPublisher
	}
	c := &p.core
	e := c.take()
	err := p.encode(e, v, opts)
	if err == nil {
		err = c.send(ctx, e)
	}
	if err == nil {
		c.give(e)
		return nil
	}
	if !e.lent {
		c.give(e)
	}
	return c.fail(err)
}

// PublishAll publishes the values of vs in order, many in one call to the broker. Each value is encoded before the next is
// asked for, so vs may use one variable for all. It returns nil when the broker has them all, else an error that wraps a
// [*BatchError] with one entry per value that was asked for. When ctx ends it asks for no more. Two values of one key keep
// their order: the later is not sent once the earlier failed. The options apply to each value; [WithID] and [WithOriginal], which would
// give all of them one id, are refused: that error matches [ErrNotSent], is no BatchError, and nothing was asked for;
// [Publisher.PublishEach] takes them. vs must not be nil.
func (p *Publisher[T]) PublishAll(ctx context.Context, vs iter.Seq[*T], opts ...MessageOption) error {
	if p.topic == nil {
		return errNoPublisher
	}
	for i := range opts {
		if opts[i].kind == idOption || opts[i].kind == originalOption {
			return p.core.fail(fmt.Errorf("%w: WithID and WithOriginal would give every message the same id", ErrNotSent))
		}
	}
	r := batchRun{core: &p.core, most: p.core.chunk()}
	atOnce := p.core.accept != nil && len(opts) == 0
	for v := range vs {
		if atOnce && len(r.batch) == 0 && r.keys == nil && p.accepted(ctx, v) {
			r.total++
			continue
		}
		e := p.core.take()
		if err := p.encode(e, v, opts); err != nil {
			r.failed(e, err)
			continue
		}
		r.add(ctx, e)
		if ctx.Err() != nil {
			break
		}
	}
	r.flush(ctx)
	if err := r.err(); err != nil {
		return p.core.fail(err)
	}
	return nil
}

// Close ends the publisher. What publishes have handed over is sent, within ctx, without waiting for more to come; those
// that still wait, for room or for the broker, return [ErrClosed] with [ErrNotSent] or [ErrUnconfirmed], and so do those
// that begin afterwards. It may be called more than once. The broker stays open.
func (p *Publisher[T]) Close(ctx context.Context) error {
	if p.topic == nil {
		return nil // it was never opened
	}
	c := &p.core
	if c.closed.Swap(true) {
		return nil
	}
	c.clock.close()
	if c.join != nil {
		c.join.close(ctx)
	}
	if err := c.out.close(ctx); err != nil {
		return c.fail(err)
	}
	return nil
}

var errNoPublisher error = &Error{Op: "publish", Err: fmt.Errorf("%w: the publisher is the zero value; make one with NewPublisher", ErrNotSent)}

func (c *publisherCore) fail(err error) error { return &Error{Op: "publish", Topic: c.name, Err: err} }

func validUTF8(s string) bool { return utf8.ValidString(s) }
