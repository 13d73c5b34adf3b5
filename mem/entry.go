package mem

import (
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	// inlineCopy is the size up to which a record is copied under the queue's lock. Above it the copy takes longer than
	// taking the lock twice.
	inlineCopy = 4 << 10
	// small buffers of free entries are not counted.
	small = 1 << 10
	// maxKept is the largest buffer that a free entry keeps.
	maxKept = 64 << 10
	// maxFree and maxFreeBytes bound a queue's free entries and their buffers that are not small.
	maxFree      = 4096
	maxFreeBytes = 4 << 20
)

// state says where an entry is.
type state uint8

const (
	spare  state = iota // in no queue
	ready               // in the ring
	held                // in the heap, until it is due
	inHand              // received and not settled
	stale               // its tenure ended; its successor carries the record on
)

// An entry is a record in one queue and the delivery that it is handed out as. While it is in hand the delivery is the
// receiver's, so everything that must outlive a lost tenure is kept beside it. All fields are guarded by the queue's
// mutex, save those that never change and the delivery while it is in hand.
type entry struct {
	delivery driver.Delivery
	q        *queue // never changes

	id          driver.ID
	contentType string
	control     driver.Control
	body        []byte
	key         []byte
	headers     []driver.Header

	owner *member       // who holds it while it is in hand
	slot  int           // where in owner.hand it is
	seq   uint64        // its place in the publish order
	count int           // how often it was delivered
	size  int           // as limits count
	kept  int           // what it adds to the free bytes of its queue, while it is free
	at    time.Duration // when it is due while held; when its lease ends while in hand
	next  *entry        // the successor of a stale entry, where late settlements are accepted
	state state
	// lent buffers may be read by a handler whose tenure ended: they are never written again.
	lent bool
	// delayed marks a held entry that was sent with a due time, which counts against the bound of what is held.
	delayed bool
}

// fill copies the record in. Strings are shared, since nothing can change them.
func (e *entry) fill(r *driver.Record, size int) {
	e.id = r.ID
	e.contentType = r.ContentType
	e.control = r.Control
	if r.Control.Hold != nil || r.Control.Failure != nil {
		e.ownControl()
	}
	if n := len(r.Body); n <= cap(e.body) {
		e.body = e.body[:n]
		copy(e.body, r.Body)
	} else {
		e.body = append(e.body[:0], r.Body...)
	}
	// Most records have neither, and two calls that copy nothing would be a tenth of this.
	if len(r.Key)+len(e.key) > 0 {
		e.key = append(e.key[:0], r.Key...)
	}
	if len(r.Headers)+len(e.headers) > 0 {
		e.headers = append(e.headers[:0], r.Headers...)
	}
	e.size = size
	e.count = 0
}

func (e *entry) ownControl() {
	if e.control.Hold != nil {
		h := *e.control.Hold
		e.control.Hold = &h
	}
	if e.control.Failure != nil {
		f := *e.control.Failure
		e.control.Failure = &f
	}
}

// dress writes the delivery anew, so that nothing of an earlier handing out shows.
func (e *entry) dress(tenure, handout uint64) *driver.Delivery {
	d := &e.delivery
	d.Token.A, d.Token.B = e.seq, handout
	d.Tenure = tenure
	d.Topic = e.q.topic
	d.ID = e.id
	d.Key = nil
	if n := len(e.key); n > 0 {
		d.Key = e.key[:n:n]
	}
	d.Body = e.body[:len(e.body):len(e.body)]
	d.Headers = e.headers[:len(e.headers):len(e.headers)]
	d.ContentType = e.contentType
	d.Delivered = e.count
	d.Control = e.control
	d.Slot = 0
	return d
}

// successor returns a new entry with the record of e, whose own memory belongs to its handler for good. The bytes are
// shared, as both only read them.
func (e *entry) successor() *entry {
	n := e.q.blank()
	n.id, n.contentType, n.control = e.id, e.contentType, e.control
	n.body, n.key, n.headers = e.body, e.key, e.headers
	n.seq, n.count, n.size = e.seq, e.count, e.size
	n.lent = true
	return n
}

// replace returns the successor of a stale entry. Where late settlements are accepted, they find it.
func (e *entry) replace() *entry {
	n := e.successor()
	if e.q.b.cfg.Weak.AcceptLateSettlements {
		e.next = n
	}
	return n
}

// copied returns a new entry with a copy of the record of e.
func (e *entry) copied() *entry {
	n := e.q.blank()
	n.fill(&driver.Record{
		ID: e.id, ContentType: e.contentType, Control: e.control, Body: e.body, Key: e.key, Headers: e.headers,
	}, e.size)
	n.seq, n.count = e.seq, e.count
	return n
}

// poison overwrites what a handler may have kept.
func (e *entry) poison() {
	const pattern = 0xdb
	for _, b := range [][]byte{e.body, e.key} {
		b = b[:cap(b)]
		for i := range b {
			b[i] = pattern
		}
	}
	clear(e.headers[:cap(e.headers)])
	e.delivery = driver.Delivery{}
}

// buffers is the size of the entry's buffers.
func (e *entry) buffers() int {
	const header = 32
	return cap(e.body) + cap(e.key) + header*cap(e.headers)
}
