package mem

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/pace"
)

// A queue holds the records of a topic, or of a topic for one group, and hands each to one of its members.
//
// Ways of an entry:
//
//	send ──► ready ──► in hand ──► done, free again
//	  │        ▲ ▲        │
//	  └► held ─┘ └────────┘ released, or its tenure ended
type queue struct {
	b      *Broker
	id     uint64 // the order in which several queues are locked
	prefix uint64 // of the ids that are given here
	topic  string
	group  string
	poison bool // Config.Poison
	// keyed is set once a record had a key: entries that are used again may have one.
	keyed atomic.Bool

	mu        sync.Mutex // guards everything below, and the entries
	over      error      // why the queue takes and gives no more, once it does not
	ready     ring
	bytes     int    // of what is ready
	beside    int    // what counts as ready beside ready: room that is set aside, and what strands have
	seq       uint64 // of the last record
	delivered uint64 // how many deliveries there ever were
	inFlight  int

	// free are those without buffers that are counted. The one that was free first is used first: so they are used in the
	// order of their addresses, which a processor guesses, so that it has the next when it comes.
	free      ring
	freeLarge []*entry // the others
	freeBytes int
	scratch   []large // free, for senders of large records

	strands *strands      // where receivers own keys, and nil elsewhere
	missed  *atomic.Int64 // of a reader's own queue: what it was too slow for; nil elsewhere

	members []*member
	idle    []*member // waiting for records; the last to come is the first to be woken, its caches are warm
	waking  bool      // a member was woken and has not come yet

	room  waitlist // senders that wait for room, and the room set aside for those that were let in
	delay delays   // what waits for a due time
	share sharing
	brisk brisk
	lease lease
}

// push makes a filled entry ready, behind everything else.
func (q *queue) push(e *entry) {
	q.seq++
	e.seq, e.state = q.seq, ready
	q.bytes += e.size
	q.ready.push(e)
}

// requeue makes an entry ready again, at its place in the publish order.
func (q *queue) requeue(e *entry) {
	switch w := &q.b.cfg.Weak; {
	case q.strands != nil:
		q.strands.back(e)
		return
	case w.RequeueBehindNew:
		q.push(e)
		return
	case w.RequeueInNackOrder:
		q.ready.insert(0, e)
	default:
		q.ready.insert(q.ready.place(e.seq), e)
	}
	e.state = ready
	q.bytes += e.size
}

// pop takes the first ready entry.
func (q *queue) pop() *entry {
	e := q.ready.pop()
	q.bytes -= e.size
	return e
}

// available is how many ready entries may be taken now.
func (q *queue) available() int {
	if q.b.calm.Load() {
		return q.ready.n
	}
	return q.b.allowed(q)
}

// fits reports whether a record of this size may become ready within the bound. An empty queue takes any record.
func (q *queue) fits(size int, most bound) bool {
	n := q.ready.n + q.beside
	return n == 0 || n < most.messages && q.bytes+q.room.grantedBytes+size <= most.bytes
}

// takes reports whether a record of this size may become ready at once, before none that waits for room.
func (q *queue) takes(size int, most bound) bool {
	return q.over == nil && q.room.first == nil && q.fits(size, most)
}

// waiter returns the member to wake because there is something to take, or nil. The caller wakes it after unlocking.
// One wake is in flight at most: who is woken and leaves something wakes the next.
func (q *queue) waiter() *member {
	n := len(q.idle)
	switch {
	case n == 0:
		return nil
	case q.strands != nil:
		return q.strands.waiter()
	case q.waking || q.available() == 0 || q.holdsOff():
		return nil
	default:
		return q.woken(n - 1)
	}
}

// woken takes a member out of those that wait, to be woken.
func (q *queue) woken(i int) *member {
	m := q.idle[i]
	q.idle = slices.Delete(q.idle, i, i+1)
	m.idle = false
	m.woken = true
	q.waking = true
	return m
}

// lock takes the lock, for who takes or settles many at once, which lasts for microseconds. Who sends one message has it too
// briefly for others to be let run.
func (q *queue) lock() { pace.Lock(&q.mu) }

// unlock gives up the lock and wakes a member for what is there.
func (q *queue) unlock() {
	if len(q.idle) == 0 {
		q.mu.Unlock()
	} else {
		q.unlockAndWake()
	}
}

func (q *queue) unlockAndWake() {
	m := q.waiter()
	q.mu.Unlock()
	if m != nil {
		m.r.rouse()
	}
}

// end makes the queue take and give no more, for the reason err. What it holds is dropped, and what is in hand can be
// settled no more; the tenures that end so are returned.
func (q *queue) end(err error) []ended {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.over != nil {
		return nil
	}
	q.over = err
	var all []ended
	for _, m := range q.members {
		all = append(all, ended{m.r, driver.Revocation{Tenure: m.tenure, Until: time.Now(), Lost: true}})
		m.stopEnding()
		m.abandon()
	}
	q.room.end(err)
	q.delay.end()
	q.share.end()
	q.brisk.end()
	q.lease.end()
	q.ready, q.bytes, q.free, q.freeLarge, q.strands = ring{}, 0, ring{}, nil, nil
	q.idle, q.waking = nil, false
	return all
}

// depth adds what is here.
func (q *queue) depth(d *driver.Depth, oldest *driver.Stamp) {
	q.mu.Lock()
	defer q.mu.Unlock()
	d.Ready += int64(q.waits())
	d.Held += int64(len(q.delay.heap))
	d.InFlight += int64(q.inFlight)
	note := func(e *entry) { older(oldest, e.delivery.Control.Published) }
	for i := range q.ready.n {
		note(q.ready.at(i))
	}
	if q.strands != nil {
		q.strands.each(note)
	}
}

// waits is how many entries are ready.
func (q *queue) waits() int {
	if q.strands == nil {
		return q.ready.n
	}
	return q.ready.n + q.strands.ready
}

// anybodys reports whether there may be something that any member could take.
func (q *queue) anybodys() bool {
	return q.ready.n > 0 || q.strands != nil && q.strands.unowned() > 0
}
