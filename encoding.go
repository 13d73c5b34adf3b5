package wherry

import (
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// encoding is one message on its way out. It is used again, with its buffers. Of a message that is nothing but a body only
// the body, the number and the time are written anew: the rest of its record is as newEncoding left it.
type encoding struct {
	rec     [1]driver.Record // an array, so that sending one needs no slice of its own
	body    []byte
	key     []byte
	headers []driver.Header
	id      driver.ID
	delay   time.Duration
	of      *driver.Delivery // the original, until it is encoded
	ctx     lazyContext
	seq     uint64 // the last number that was used of those it has, which end at last
	last    uint64
	dressed bool // it is more than a body
	lent    bool // a send that outlived its context still reads it
}

func (c *publisherCore) newEncoding() *encoding {
	e := &encoding{}
	e.rec[0] = c.blank()
	e.ctx = c.callContext()
	return e
}

// blank is the record of a message without anything.
func (c *publisherCore) blank() driver.Record {
	return driver.Record{ID: driver.ID{Prefix: c.prefix}, ContentType: c.contentType}
}

// callContext is the context of a call, which ends at the publish timeout where the caller's has no deadline.
func (c *publisherCore) callContext() lazyContext {
	return lazyContext{cause: errPublishTimeout, clock: &c.clock, fallback: true}
}

// take returns a free encoding. The pool has one for each processor, which costs no atomic operation.
func (c *publisherCore) take() *encoding {
	return c.pool.Get().(*encoding) //nolint:forcetypeassert // The pool holds nothing else.
}

// give takes an encoding back that nobody reads any more.
func (c *publisherCore) give(e *encoding) {
	if e.dressed || cap(e.body) > maxKeptBuffer {
		c.undress(e)
	}
	c.pool.Put(e)
}

// numberBlock is how many numbers an encoding takes of the publisher's at a time.
const numberBlock = 1 << 10

// number returns the number of the next message. Those of one publisher are different, and not in order.
func (e *encoding) number(c *publisherCore) uint64 {
	if e.seq == e.last {
		e.last = c.numbers.Add(numberBlock)
		e.seq = e.last - numberBlock
	}
	e.seq++
	return e.seq
}

// undress makes an encoding that of a body again, without buffers that are not worth keeping.
func (c *publisherCore) undress(e *encoding) {
	if cap(e.body) > maxKeptBuffer {
		e.body = nil
	}
	if cap(e.key) > maxKeptBuffer {
		e.key = nil
	}
	clear(e.headers)
	e.key, e.headers, e.id, e.delay, e.of, e.dressed = e.key[:0], e.headers[:0], driver.ID{}, 0, nil, false
	e.rec[0] = c.blank()
}

// encode fills e with the record of v. Its errors are about this message and match ErrNotSent.
func (p *Publisher[T]) encode(e *encoding, v *T, opts []MessageOption) error {
	return p.topic.encode(&p.core, e, v, opts)
}

// encode is that of a publisher to the topic.
func (t *topicSpec[T]) encode(c *publisherCore, e *encoding, v *T, opts []MessageOption) error {
	if c.closed.Load() {
		return errClosedPublisher
	}
	if v == nil {
		return errNilValue
	}
	if t.key != nil || len(opts) > 0 { // first: what cannot be encoded has a key all the same, which later ones wait for
		e.dressed = true
		if t.key != nil {
			e.key = t.key(e.key, v)
		}
		for i := range opts {
			if err := opts[i].apply(e); err != nil {
				return fmt.Errorf("%w: %w", ErrNotSent, err)
			}
		}
	}
	body, err := t.codec.Append(e.body[:0], v)
	if err != nil {
		return fmt.Errorf("%w: encode: %w", ErrNotSent, err)
	}
	e.body = body
	if e.dressed {
		if err := c.dress(e); err != nil {
			return err
		}
	} else if len(body) > c.maxBody {
		return c.checkSize(e)
	}
	r := &e.rec[0]
	r.Body = body
	if r.ID.Text == "" {
		r.ID.Seq = e.number(c)
	}
	r.Control.Published = c.clock.now()
	if e.of != nil {
		e.keepOf()
	}
	return nil
}

// dress gives the record what a message has besides its body.
func (c *publisherCore) dress(e *encoding) error {
	if err := c.checkSize(e); err != nil {
		return err
	}
	r := &e.rec[0]
	r.Headers = e.headers
	if len(e.key) > 0 {
		r.Key = e.key
	}
	if e.id.Text != "" {
		r.ID = e.id
	}
	if e.delay > 0 {
		// From the system's clock: a reading of up to 2 ms ago would make the delay that much shorter.
		r.Due = driver.StampOf(time.Now()).Add(e.delay)
	}
	return nil
}

// checkSize says which limit a message is over.
func (c *publisherCore) checkSize(e *encoding) error {
	if len(e.body) > c.spec.bodyLimit {
		return tooLarge("body", len(e.body), c.spec.bodyLimit)
	}
	r := driver.Record{Headers: e.headers}
	if size := r.Size(); size > c.spec.headerLimit {
		return tooLarge("headers", size, c.spec.headerLimit)
	}
	r.Body, r.Key = e.body, e.key
	if most := c.maxRecord; most > 0 && r.Size() > most {
		return tooLarge("message", r.Size(), most)
	}
	return nil
}

func tooLarge(what string, have, most int) error {
	return fmt.Errorf("%w: %w: %s of %d bytes, limit %d", ErrNotSent, ErrTooLarge, what, have, most)
}

var (
	errClosedPublisher = fmt.Errorf("%w: the publisher is %w", ErrNotSent, ErrClosed)
	errNilValue        = fmt.Errorf("%w: the value is nil", ErrNotSent)
)
