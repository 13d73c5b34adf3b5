package mem

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/wherryhq/wherry/driver"
)

var (
	errTooLarge = fmt.Errorf("%w: %w", driver.ErrTooLarge, driver.ErrNotSent)
	errFull     = fmt.Errorf("%w: %w", driver.ErrFull, driver.ErrNotSent)
	errEarlier  = fmt.Errorf("an earlier record of its key failed: %w", driver.ErrNotSent)
)

// errWiped ends a queue whose topic was wiped away; who used it looks for the topic again.
var errWiped = errors.New("topology wiped")

// A sender sends to one target.
type sender struct {
	b      *Broker
	target driver.Target
	most   bound
	inline int // the largest record of the fast path
	route  atomic.Pointer[route]
	closed atomic.Bool
	done   chan struct{} // closed by Close
}

// plain is a sender without the ability to delay.
type plain struct{ s *sender }

func (p plain) Send(ctx context.Context, batch []driver.Record) error { return p.s.Send(ctx, batch) }
func (p plain) Accept(r *driver.Record) bool                          { return p.s.Accept(r) }
func (p plain) AcceptCopy(body []byte, contentType string, published driver.Stamp) bool {
	return p.s.AcceptCopy(body, contentType, published)
}
func (p plain) Limits() driver.SendLimits       { return p.s.Limits() }
func (p plain) Close(ctx context.Context) error { return p.s.Close(ctx) }

var (
	_ driver.Accepter = (*sender)(nil)
	_ driver.Accepter = plain{}
)

func (s *sender) Limits() driver.SendLimits {
	return driver.SendLimits{Batch: s.b.cfg.SendBatch, MaxRecord: s.b.cfg.MaxRecord}
}

// Accept takes a record of nothing but a body and a key, where there is room: that is one lock and no copy of the body, however
// large it is. Its buffer is exchanged for that of the entry. One that is much larger than what is in it is copied instead, or a full queue
// of small records would hold as many large buffers.
func (s *sender) Accept(r *driver.Record) bool {
	size := len(r.Body) + len(r.Key)
	exchange := cap(r.Body) <= small || cap(r.Body) < 2*len(r.Body)
	q := s.route.Load().only
	if q == nil || size > s.inline && (!exchange || size > s.b.cfg.MaxRecord) ||
		s.closed.Load() || !s.b.calm.Load() || !isPlain(r) {
		return false
	}
	q.mu.Lock()
	if !q.takes(size, s.most) {
		q.mu.Unlock()
		return false
	}
	e := q.spare(size)
	if exchange {
		e.delivery.Body, r.Body = r.Body, e.delivery.Body[:0]
	} else {
		e.delivery.Body, r.Body = append(e.delivery.Body[:0], r.Body...), r.Body[:0]
	}
	e.size, e.count = size, 0
	e.fillPlain(r)
	q.push(e)
	q.unlock()
	return true
}

// AcceptCopy takes a small record, where there is room.
func (s *sender) AcceptCopy(body []byte, contentType string, published driver.Stamp) bool {
	q, size := s.route.Load().only, len(body)
	if q == nil || size > s.inline || s.closed.Load() || !s.b.calm.Load() {
		return false
	}
	q.mu.Lock()
	if !q.takes(size, s.most) {
		q.mu.Unlock()
		return false
	}
	e := q.spare(size)
	e.size, e.count = size, 0
	e.delivery.Body = append(e.delivery.Body[:0], body...)
	e.stamp(q.prefix, q.seq, contentType, 0, published) // push counts seq up
	if q.keyed.Load() {
		e.fillKey(nil)
	}
	q.push(e)
	q.unlock()
	return true
}

// Send is one lock and one copy for a small record that fits.
func (s *sender) Send(ctx context.Context, batch []driver.Record) error {
	if ctx.Err() != nil {
		return notSent(context.Cause(ctx))
	}
	if len(batch) != 1 || s.closed.Load() || !s.b.calm.Load() {
		return s.send(ctx, batch)
	}
	q, r := s.route.Load().only, &batch[0]
	if q == nil {
		return s.send(ctx, batch)
	}
	size := r.Size()
	if size > s.inline {
		return s.send(ctx, batch)
	}
	q.mu.Lock()
	if !q.takes(size, s.most) {
		q.mu.Unlock()
		return s.send(ctx, batch)
	}
	e := q.spare(size)
	e.fill(r, size)
	q.push(e)
	q.unlock()
	return nil
}

// send is Send for every batch and state.
func (s *sender) send(ctx context.Context, batch []driver.Record) error {
	if len(batch) == 0 {
		return nil
	}
	if !s.b.calm.Load() {
		return s.sendOdd(ctx, batch)
	}
	return s.put(ctx, batch)
}

// put places a batch record by record, waiting where the target is full.
func (s *sender) put(ctx context.Context, batch []driver.Record) error {
	p := placing{s: s, batch: batch}
	defer p.end()
	for p.at < len(batch) {
		if err := p.lock(); err != nil {
			p.failRest(err)
			break
		}
		w := p.fill()
		p.unlock()
		if w == nil {
			continue
		}
		if err := w.wait(ctx); err == nil {
			p.claim = w
		} else if !errors.Is(err, errWiped) {
			p.failRest(notSent(err))
			break
		}
	}
	return p.failed.err(len(batch))
}

// notSent wraps err as [driver.ErrNotSent].
func notSent(err error) error { return fmt.Errorf("%w: %w", driver.ErrNotSent, err) }

func (s *sender) Close(context.Context) error {
	if s.closed.Swap(true) {
		return nil
	}
	close(s.done)
	for _, q := range s.route.Load().all() {
		q.evictAll(s, errSenderClosed)
	}
	return nil
}
