package mem

import (
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	// inlineCopy is the size up to which a record is copied under the queue's lock. Above it the copy takes longer than
	// taking the lock twice.
	inlineCopy = 4 << 10
	// pattern overwrites what was settled, where Config.Poison is set.
	pattern = 0xdb
)

// state says where an entry is.
type state uint8

const (
	spare  state = iota // nowhere
	ready               // in the ring
	held                // in the heap, until it is due
	inHand              // received and not settled
)

// An entry is a record in one queue, and the delivery as which it is handed out: it is written once, by the sender. It is
// guarded by the queue's mutex, but for the delivery, which is the receiver's while it is in hand. When it is settled the
// entry is used again, soon, while it is still in a cache; when its tenure ended it never is, since a handler may still
// read it: another entry takes its place.
type entry struct {
	delivery driver.Delivery
	buf      []byte // the key and then the body

	owner  *member       // who has it in hand; nil once it is settled or its tenure ended
	slot   int           // where in owner.hand it is
	number uint64        // as in the token
	tenure uint64        // as in the delivery, of which a receiver may have kept a copy
	seq    uint64        // its place in the publish order
	size   int           // as limits count
	end    time.Duration // when the lease ends
	count  uint32        // how often it was delivered
	life   uint32        // how many records it was
	state  state
	// plain entries have nothing that a free one must not keep.
	plain bool
	// lent buffers may be read by a handler whose tenure ended: they are never written again.
	lent bool
	// delayed marks a held entry that was sent with a due time, which counts against the bound of what is held.
	delayed bool

	q       *queue // never changes
	headers []driver.Header
	kept    int    // what it adds to the free bytes of its queue, while it is free
	next    *entry // what took its place, where late settlements are accepted
}

// newEntry returns an entry of a queue, to be filled.
func newEntry(q *queue) *entry {
	e := &entry{q: q, plain: true}
	e.name()
	return e
}

// name sets what never changes of the delivery.
func (e *entry) name() {
	e.delivery.Topic = e.q.topic
	if !e.q.b.cfg.Weak.ReuseTags {
		e.delivery.Token.Ref = e
	}
}

// fill copies the record in. Strings are shared, since nothing can change them. What a record of nothing but a body does
// not have, the entry does not have either: it is new, or was stripped.
func (e *entry) fill(r *driver.Record, size int) {
	d, n := &e.delivery, len(r.Body)
	e.size, e.count = size, 0
	if size != n || len(r.Headers) > 0 || n > cap(e.buf) || r.ID.Text != "" || r.Control.Hold != nil || r.Control.Failure != nil {
		e.fillOdd(r)
		return
	}
	e.buf = e.buf[:n]
	copy(e.buf, r.Body)
	d.Body = e.buf[:n:n]
	d.ID.Prefix, d.ID.Seq = r.ID.Prefix, r.ID.Seq
	d.ContentType = r.ContentType
	d.Control = driver.Control{
		Attempt: r.Control.Attempt, Published: r.Control.Published, Defers: r.Control.Defers, Deferred: r.Control.Deferred,
	}
}

// fillOdd is fill for every record.
func (e *entry) fillOdd(r *driver.Record) {
	d, key := &e.delivery, len(r.Key)
	e.buf = append(append(e.buf[:0], r.Key...), r.Body...)
	d.Body = e.buf[key:len(e.buf):len(e.buf)]
	if key > 0 {
		d.Key = e.buf[:key:key]
	}
	if len(r.Headers) > 0 {
		e.headers = append(e.headers[:0], r.Headers...)
		d.Headers = slices.Clip(e.headers)
	}
	d.ID, d.ContentType, d.Control = r.ID, r.ContentType, ownControl(r.Control)
	e.plain = key == 0 && cap(e.headers) == 0 && r.ID.Text == "" && r.Control.Hold == nil && r.Control.Failure == nil
}

// ownControl is a copy that shares nothing.
func ownControl(c driver.Control) driver.Control {
	if c.Hold != nil {
		h := *c.Hold
		c.Hold = &h
	}
	if c.Failure != nil {
		f := *c.Failure
		c.Failure = &f
	}
	return c
}

// copied returns a new entry with a copy of the record of e.
func (e *entry) copied() *entry {
	n, d := newEntry(e.q), &e.delivery
	n.seq = e.seq
	n.fill(&driver.Record{
		ID: d.ID, ContentType: d.ContentType, Control: d.Control, Key: d.Key, Body: d.Body, Headers: d.Headers,
	}, e.size)
	return n
}

// again returns a new entry that takes the place of e, with its buffers. Who has the delivery of e keeps it.
func (e *entry) again() *entry {
	n := &entry{
		delivery: driver.Delivery{ // without its Slot, which its receiver may be writing
			ID: e.delivery.ID, Key: e.delivery.Key, Body: e.delivery.Body, Headers: e.delivery.Headers,
			ContentType: e.delivery.ContentType, Control: e.delivery.Control,
		},
		buf: e.buf, headers: e.headers, seq: e.seq, size: e.size, count: e.count, life: e.life,
		state: e.state, plain: e.plain, lent: e.lent, delayed: e.delayed, q: e.q,
	}
	n.name()
	if e.q.b.cfg.Weak.AcceptLateSettlements {
		e.next = n
	}
	return n
}

// moved returns an entry that takes the place of e with copies of its buffers. The old ones are overwritten, unless
// somebody may still read them.
func (e *entry) moved() *entry {
	n, c := e.again(), e.copied()
	n.buf, n.headers, n.lent = c.buf, c.headers, false
	n.delivery.Key, n.delivery.Body, n.delivery.Headers = c.delivery.Key, c.delivery.Body, c.delivery.Headers
	n.delivery.Control = c.delivery.Control
	e.spoil()
	return n
}

// spoil overwrites what a receiver may have kept of a delivery that it settled.
func (e *entry) spoil() {
	if !e.lent {
		b := e.buf[:cap(e.buf)]
		for i := range b {
			b[i] = pattern
		}
		clear(e.headers[:cap(e.headers)])
	}
	e.delivery = driver.Delivery{Token: e.delivery.Token, Tenure: e.delivery.Tenure}
}

// buffers is the size of the entry's buffers.
func (e *entry) buffers() int {
	const header = 32
	return cap(e.buf) + header*cap(e.headers)
}
