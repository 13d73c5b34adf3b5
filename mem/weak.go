package mem

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// credit is how many more deliveries the receivers of the queue may have together. The caller holds the lock.
func (q *queue) credit() int {
	w := &q.b.cfg.Weak
	if w.CreditPerQueue == 0 {
		return math.MaxInt
	}
	used := q.inFlight
	if w.DelaysEatCredit {
		used += len(q.delay.heap) - q.delay.messages
	}
	return max(0, w.CreditPerQueue-used)
}

// tags are a member's deliveries by number, where tokens are numbers.
type tags struct {
	last uint64
	hand map[uint64]*entry
}

// mark names an entry by a number that begins again with each tenure, where tokens are numbers.
func (m *member) mark(e *entry) {
	if !m.q.b.cfg.Weak.ReuseTags {
		return
	}
	if m.tags.hand == nil {
		m.tags.hand = map[uint64]*entry{}
	}
	m.tags.last++
	m.tags.hand[m.tags.last] = e
	e.delivery.Token = driver.Token{A: m.tags.last, B: m.place}
}

// named is what a delivery names: an entry or, where tokens are numbers, the member that knows it.
type named struct {
	q   *queue // nil when it names nothing
	e   *entry
	m   *member
	tag uint64
}

func (r *receiver) name(d *driver.Delivery) named {
	if d == nil {
		return named{}
	}
	if e := entryOf(d); e != nil {
		return named{q: e.q, e: e}
	}
	if members := r.currentMembers(); r.b.cfg.Weak.ReuseTags && d.Token.B < uint64(len(members)) {
		m := members[d.Token.B]
		return named{q: m.q, m: m, tag: d.Token.A}
	}
	return named{}
}

// find returns the entry. With an error, it is what a broker that accepts late settlements would take it for. The
// caller holds the lock of the queue.
func (n named) find(r *receiver, d *driver.Delivery, now time.Duration) (*entry, error) {
	if n.e != nil {
		return n.e, n.e.check(r, d, now)
	}
	m := n.m
	e := m.tags.hand[n.tag]
	switch {
	case e == nil || e.owner != m:
		return nil, errSettled
	case m.tenure != d.Tenure:
		return e, errSettled
	case now != 0 && e.end <= now:
		e.lapse(now)
		return e, errLease
	default:
		return e, nil
	}
}

// forget gives up the number of a delivery that was settled. The caller holds the lock of the queue.
func (n named) forget() {
	if n.m != nil {
		delete(n.m.tags.hand, n.tag)
	}
}

// settleLate applies a settlement to whoever has the record now, as a broker does that does not look who asks.
func (q *queue) settleLate(late *entry, s *driver.Settlement) error {
	if q.over != nil {
		return errSettled // the broker or the topic is gone, with all that it had
	}
	e := late
	for e != nil && e.next != nil {
		e = e.next
	}
	if e == nil || e.life != late.life {
		return errSettled // the record is done
	}
	done := s.Verdict == driver.Done
	switch e.state {
	case inHand:
		q.settleLost(e, s.Verdict)
	case ready:
		if done && q.unready(e) {
			q.recycle(e)
			q.admit()
		}
	case held:
		if done {
			q.cancelHold(e)
			q.recycle(e)
		}
	case spare:
		return errSettled
	}
	return nil
}

// settleLost applies a verdict to what is in a hand that does not learn of it, and whose memory stays as it is.
func (q *queue) settleLost(e *entry, v driver.Verdict) {
	if n := e.lose(); v == driver.Done {
		q.recycle(n)
	} else {
		q.requeue(n)
	}
}

// unready takes out an entry that is ready, and reports whether it was there.
func (q *queue) unready(e *entry) bool {
	if i := q.ready.index(e); i >= 0 {
		q.ready.remove(i)
		q.bytes -= e.size
		return true
	}
	return q.strands != nil && q.strands.remove(e)
}

// A window remembers the ids that were sent to a topic for a while.
type window struct {
	mu     sync.Mutex // guards the fields below
	seen   map[driver.ID]time.Duration
	order  []sighting                  // oldest first
	flying map[driver.ID]chan struct{} // of which it is not known yet whether they are stored; closed when it is
}

type sighting struct {
	id driver.ID
	at time.Duration
}

// meet notes an id, and reports whether it was met within the last keep.
func (w *window) meet(id driver.ID, now, keep time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.meetLocked(id, now, keep)
}

func (w *window) meetLocked(id driver.ID, now, keep time.Duration) bool {
	for len(w.order) > 0 && now-w.order[0].at >= keep {
		if old := w.order[0]; w.seen[old.id] == old.at {
			delete(w.seen, old.id)
		}
		w.order = w.order[1:]
	}
	if _, ok := w.seen[id]; ok {
		return true
	}
	if w.seen == nil {
		w.seen = map[driver.ID]time.Duration{}
	}
	w.seen[id] = now
	w.order = append(w.order, sighting{id, now})
	return false
}

// begin is meet for a record that may fail yet, and then is no repetition's first: it returns what to wait for before asking
// again where another is on its way. Where it reports neither, end follows.
func (w *window) begin(id driver.ID, now, keep time.Duration) (again bool, other <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if first := w.flying[id]; first != nil {
		return false, first
	}
	if w.meetLocked(id, now, keep) {
		return true, nil
	}
	if w.flying == nil {
		w.flying = map[driver.ID]chan struct{}{}
	}
	w.flying[id] = make(chan struct{})
	return false, nil
}

// end says whether a record is stored.
func (w *window) end(id driver.ID, stored bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !stored {
		delete(w.seen, id)
	}
	close(w.flying[id])
	delete(w.flying, id)
}

// once calls put unless the record is a repetition that the broker drops with success.
func (s *sender) once(ctx context.Context, r *driver.Record, put func() error) error {
	keep := s.b.cfg.Weak.Dedup
	if keep == 0 || r.Unique || r.ID.IsZero() {
		return put()
	}
	if _, err := s.queues(); err != nil {
		return err
	}
	w := s.route.Load().topic.dedup
	for {
		again, other := w.begin(r.ID, s.b.now(), keep)
		if again {
			return nil
		}
		if other == nil {
			break
		}
		select {
		case <-other:
		case <-s.done:
			return notSent(s.over())
		case <-ctx.Done():
			return notSent(context.Cause(ctx))
		}
	}
	err := put()
	w.end(r.ID, err == nil)
	return err
}
