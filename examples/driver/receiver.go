package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/wherryhq/wherry/driver"
)

// A receiver is one competing consumer.
type receiver struct {
	b        *Broker
	topics   []string
	prefetch int

	// Guarded by the lock of the server.
	hand   map[uint64]held // by the number in the token
	closed bool
}

// What is held was delivered and not settled.
type held struct {
	q *queue
	m *message
}

// Info tells the engine to empty the queues before it stops, as they end with the process.
func (r *receiver) Info() driver.Info { return driver.Info{HasCount: true, Volatile: true} }

// Receive waits for the first delivery and takes what else is there.
func (r *receiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	for {
		got, changed, err := r.take(dst)
		if len(got) > len(dst) || err != nil {
			return got, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return dst, ctx.Err()
		}
	}
}

// take appends what is there, up to the capacity of dst and to the prefetch. changed is closed when there may be more.
func (r *receiver) take(dst []*driver.Delivery) (got []*driver.Delivery, changed <-chan struct{}, err error) {
	server := r.b.server
	server.mu.Lock()
	defer server.mu.Unlock()
	if r.closed {
		return dst, nil, r.b.over("receiver")
	}
	for _, topic := range r.topics {
		q := server.queues[topic] // nil where nobody made it yet: an External source may be opened before
		for q != nil && len(q.ready) > 0 && len(dst) < cap(dst) && len(r.hand) < r.prefetch {
			m := q.take()
			d := decode(m, topic)
			d.Token.A = server.number() // never that of another delivery
			r.hand[d.Token.A] = held{q, m}
			dst = append(dst, d)
		}
	}
	return dst, server.changed, nil
}

// decode is the contrary of encode. A foreign record may have anything under the reserved prefix: what does not parse is no
// control data, and none of it is the user's.
func decode(m *message, topic string) *driver.Delivery {
	d := &driver.Delivery{Body: m.body, Key: m.key, Delivered: m.delivered, Topic: topic}
	for _, h := range m.headers {
		switch {
		case h.Key == driver.IDHeader:
			d.ID.Text = h.Value
		case h.Key == driver.ContentTypeHeader:
			d.ContentType = h.Value
		case h.Key == driver.ControlHeader:
			if c, err := driver.ParseControl(h.Value); err == nil {
				d.Control = c
			}
		case !strings.HasPrefix(h.Key, driver.ReservedPrefix):
			d.Headers = append(d.Headers, h)
		}
	}
	return d
}

// Settle answers for each delivery by itself: one that cannot be settled does not take its neighbours with it.
func (r *receiver) Settle(_ context.Context, batch []driver.Settlement) error {
	server := r.b.server
	server.mu.Lock()
	defer server.mu.Unlock()
	if r.closed {
		return r.b.over("receiver")
	}
	var failed failures
	for i, s := range batch {
		token := s.Delivery.Token.A
		h, ok := r.hand[token]
		delete(r.hand, token)
		switch {
		case !ok:
			failed.add(len(batch), i, fmt.Errorf("example: delivery %d: %w", token, driver.ErrRevoked))
		case s.Verdict == driver.Done:
			h.q.inHand--
		default:
			server.giveBack(h.q, h.m)
		}
	}
	server.wake() // the prefetch has room again
	return failed.err()
}

// Close gives back what is unsettled.
func (r *receiver) Close(context.Context) error {
	r.b.server.mu.Lock()
	defer r.b.server.mu.Unlock()
	r.end()
	return nil
}

// end is Close under the lock. A delivery that somebody still reads stays as it is, since whoever gets its message next gets another
// one.
func (r *receiver) end() {
	for _, h := range r.hand {
		r.b.server.giveBack(h.q, h.m)
	}
	r.closed, r.hand = true, nil
	delete(r.b.receivers, r)
	r.b.server.wake() // a Receive that waits
}
