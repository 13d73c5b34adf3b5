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
//
// What most records need stands together, since the entries of a full queue are larger than a cache: what both sides write
// are its first two lines of 64 bytes, what the sender writes is the third, and what only some records have comes after.
type entry struct {
	owner *member // who has it in hand; nil once it is settled or its tenure ended
	q     *queue  // never changes
	seq   uint64  // its place in the publish order
	size  int     // as limits count
	slot  uint32  // where in owner.hand it is
	count uint32  // how often it was delivered
	life  uint32  // how many records it was
	state state
	// plain entries have nothing but a body and a short key, and may be used again as they are.
	plain bool
	// lent buffers may be read by a handler whose tenure ended: they are never written again.
	lent bool
	// delayed marks a held entry that was sent with a due time, which counts against the bound of what is held.
	delayed bool

	delivery driver.Delivery

	// Where receivers own keys: strand is that of an entry in hand, or that was released with a delay, and after is the
	// next ready one of the key. They share a line with the key.
	strand *strand
	after  *entry

	key     []byte // its buffer
	headers []driver.Header
	kept    int           // what it adds to the free bytes of its queue, while it is free
	end     time.Duration // when the lease ends
	next    *entry        // what took its place, where late settlements are accepted
}

// shortKey is the longest key of a plain entry, whose buffer is not counted.
const shortKey = 64

// newEntry returns an entry of a queue, to be filled.
func newEntry(q *queue) *entry {
	e := &entry{q: q, plain: !q.poison}
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

// fill copies the record in. Strings are shared, since nothing can change them.
func (e *entry) fill(r *driver.Record, size int) {
	e.size, e.count = size, 0
	if !isPlain(r) {
		e.fillOdd(r)
		return
	}
	e.delivery.Body = append(e.delivery.Body[:0], r.Body...)
	e.fillPlain(r)
}

// isPlain reports whether a record has nothing but a body and a key. Such a record fits an entry that has nothing else either:
// one that is new, or was stripped.
func isPlain(r *driver.Record) bool {
	c := &r.Control
	return len(r.Headers) == 0 && r.ID.Text == "" && c.Hold == nil && c.Failure == nil && c.Defers == 0 && c.Deferred == 0 && !c.Redriven
}

// fillPlain sets what such a record has besides.
func (e *entry) fillPlain(r *driver.Record) {
	e.stamp(r.ID.Prefix, r.ID.Seq, r.ContentType, r.Control.Attempt, r.Control.Published)
	if len(r.Key) > 0 || e.q.keyed.Load() {
		e.fillKey(r.Key)
	}
}

// stamp sets what every record has beside its body.
func (e *entry) stamp(prefix, seq uint64, contentType string, attempt int, published driver.Stamp) {
	d := &e.delivery
	d.ID.Prefix, d.ID.Seq = prefix, seq
	d.ContentType = contentType
	d.Control.Attempt, d.Control.Published = attempt, published
}

// fillKey copies the key in.
func (e *entry) fillKey(key []byte) {
	d, n := &e.delivery, len(key)
	if n == 0 {
		d.Key = nil
		return
	}
	e.key = append(e.key[:0], key...)
	d.Key = e.key[:n:n]
	if n > shortKey {
		e.plain = false
	}
	if !e.q.keyed.Load() {
		e.q.keyed.Store(true)
	}
}

// fillOdd is fill for every record.
func (e *entry) fillOdd(r *driver.Record) {
	d := &e.delivery
	e.plain = false
	d.Body = append(d.Body[:0], r.Body...)
	e.fillKey(r.Key)
	if len(r.Headers) > 0 {
		e.headers = append(e.headers[:0], r.Headers...)
		d.Headers = slices.Clip(e.headers)
	}
	d.ID, d.ContentType, d.Control = r.ID, r.ContentType, r.Control.Clone()
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
		q: e.q, seq: e.seq, size: e.size, count: e.count, life: e.life,
		state: e.state, plain: e.plain, lent: e.lent, delayed: e.delayed,
		delivery: driver.Delivery{ // without its Slot, which its receiver may be writing
			Body: e.delivery.Body, ID: e.delivery.ID, Control: e.delivery.Control, Headers: e.delivery.Headers,
			ContentType: e.delivery.ContentType, Key: e.delivery.Key,
		},
		key: e.key, headers: e.headers,
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
	n.plain, n.lent, n.key, n.headers = c.plain, false, c.key, c.headers
	n.delivery.Key, n.delivery.Body, n.delivery.Headers = c.delivery.Key, c.delivery.Body, c.delivery.Headers
	n.delivery.Control = c.delivery.Control
	e.spoil()
	return n
}

// spoil overwrites what a receiver may have kept of a delivery that it settled.
func (e *entry) spoil() {
	if !e.lent {
		overwrite(e.delivery.Body[:cap(e.delivery.Body)])
		overwrite(e.key[:cap(e.key)])
		clear(e.headers[:cap(e.headers)])
	}
	e.delivery = driver.Delivery{Token: e.delivery.Token, Tenure: e.delivery.Tenure}
}

func overwrite(b []byte) {
	for i := range b {
		b[i] = pattern
	}
}

// buffers is the size of the entry's buffers.
func (e *entry) buffers() int {
	const header = 32
	return cap(e.delivery.Body) + cap(e.key) + header*cap(e.headers)
}
