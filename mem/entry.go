package mem

import "github.com/wherryhq/wherry/driver"

const (
	// inlineCopy is the size up to which a record is copied under the queue's lock. Above it the copy takes longer than
	// taking the lock twice.
	inlineCopy = 4 << 10
	// small buffers of free entries are not counted.
	small = 1 << 10
	// maxKept is the largest buffer that a free entry keeps.
	maxKept = 64 << 10
	// maxFree and maxFreeBytes bound a queue's free entries and their buffers that are not small.
	maxFree      = 16 << 10
	maxFreeBytes = 4 << 20
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

// An entry is a record in one queue. Nobody outside the queue sees it, only its buffer, through a handout. It is guarded
// by the queue's mutex. It is kept small, since a full queue is larger than a cache.
type entry struct {
	id          driver.ID
	contentType string
	control     driver.Control
	buf         []byte // the key and then the body
	headers     []driver.Header

	seq   uint64   // its place in the publish order
	hand  *handout // as what it was handed out last, where late settlements are accepted
	size  int      // as limits count
	kept  int      // what it adds to the free bytes of its queue, while it is free
	key   uint32   // the length of the key
	count uint32   // how often it was delivered
	life  uint32   // how many records it was
	state state
	// plain entries have nothing that a free one must not keep.
	plain bool
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
	e.plain = r.ID.Text == ""
	if r.Control.Hold != nil || r.Control.Failure != nil {
		e.ownControl()
	}
	e.key = uint32(len(r.Key))
	if e.key == 0 && len(r.Body) <= cap(e.buf) {
		e.buf = e.buf[:len(r.Body)]
		copy(e.buf, r.Body)
	} else {
		e.buf = append(append(e.buf[:0], r.Key...), r.Body...)
	}
	if len(r.Headers)+cap(e.headers) > 0 {
		e.headers = append(e.headers[:0], r.Headers...)
		e.plain = false
	}
	e.size = size
	e.count = 0
}

func (e *entry) ownControl() {
	e.plain = false
	if e.control.Hold != nil {
		h := *e.control.Hold
		e.control.Hold = &h
	}
	if e.control.Failure != nil {
		f := *e.control.Failure
		e.control.Failure = &f
	}
}

// copied returns a new entry with a copy of the record of e.
func (e *entry) copied() *entry {
	n := &entry{seq: e.seq}
	n.fill(&driver.Record{
		ID: e.id, ContentType: e.contentType, Control: e.control,
		Key: e.buf[:e.key], Body: e.buf[e.key:], Headers: e.headers,
	}, e.size)
	return n
}

// move gives e a copy of its buffers and overwrites the old ones, unless somebody may still read them.
func (e *entry) move() {
	n := e.copied()
	if !e.lent {
		e.poison()
	}
	e.buf, e.headers, e.lent = n.buf, n.headers, false
}

// poison overwrites what a handler may have kept.
func (e *entry) poison() {
	b := e.buf[:cap(e.buf)]
	for i := range b {
		b[i] = pattern
	}
	clear(e.headers[:cap(e.headers)])
}

// buffers is the size of the entry's buffers.
func (e *entry) buffers() int {
	const header = 32
	return cap(e.buf) + header*cap(e.headers)
}

// spare returns an entry to be filled. The caller holds the lock.
func (q *queue) spare() *entry {
	n := len(q.free) - 1
	if n < 0 {
		return new(entry)
	}
	e := q.free[n]
	q.free = q.free[:n]
	if e.kept != 0 {
		q.freeBytes -= e.kept
		e.kept = 0
	}
	return e
}

// recycle takes back an entry whose record is done. The caller holds the lock.
func (q *queue) recycle(e *entry) {
	e.state = spare
	e.life++
	if !e.plain || e.lent || q.poison || cap(e.buf) > small {
		q.strip(e)
	}
	if len(q.free) < maxFree {
		q.free = append(q.free, e)
	}
}

// strip takes from an entry what a free one must not keep.
func (q *queue) strip(e *entry) {
	if q.poison && !e.lent {
		e.poison()
	}
	if e.lent || q.poison {
		e.buf, e.headers, e.lent = nil, nil, false
	}
	e.id.Text = ""
	e.control = driver.Control{}
	clear(e.headers)
	kept := 0
	if cap(e.buf) > small || cap(e.headers) > 0 {
		kept = e.buffers()
	}
	if kept > maxKept || q.freeBytes+kept > maxFreeBytes {
		e.buf, e.headers, kept = nil, nil, 0
	}
	q.freeBytes += kept
	e.kept = kept
}
