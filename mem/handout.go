package mem

import (
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// maxFreeHandouts bounds what a queue keeps for later deliveries.
const maxFreeHandouts = 4096

// A handout is an entry in somebody's hand. While it is, the delivery is the receiver's and is neither read nor written
// here. When it is settled it is used again, soon, while it is still in a cache; when its tenure ended it never is, since
// a handler may still read it.
type handout struct {
	delivery driver.Delivery
	q        *queue // never changes

	// The fields below are guarded by the queue's mutex.
	e      *entry
	owner  *member // nil once it is settled or its tenure ended
	slot   int     // where in owner.hand it is
	number uint64  // as in the token
	tenure uint64
	end    time.Duration // when the lease ends
	life   uint32        // of the entry when it was handed out, where late settlements are accepted
}

// handout returns one that is not in use. The caller holds the lock.
func (q *queue) handout() *handout {
	if n := len(q.handouts) - 1; n >= 0 {
		h := q.handouts[n]
		q.handouts = q.handouts[:n]
		return h
	}
	h := &handout{q: q}
	h.delivery.Topic = q.topic
	if !q.b.cfg.Weak.ReuseTags {
		h.delivery.Token.Ref = h
	}
	return h
}

// dress writes the delivery anew, so that nothing of an earlier one shows.
func (h *handout) dress(e *entry) {
	d := &h.delivery
	d.Token.A, d.Token.B = e.seq, h.number
	d.Tenure = h.tenure
	d.ID = e.id
	d.Key = nil
	if e.key > 0 {
		d.Key = e.buf[:e.key:e.key]
	}
	d.Body = e.buf[e.key:len(e.buf):len(e.buf)]
	d.Headers = slices.Clip(e.headers)
	d.ContentType = e.contentType
	d.Delivered = int(e.count)
	d.Control = e.control
	d.Slot = 0
}

// give puts an entry into the member's hand.
func (m *member) give(e *entry) *handout {
	q := m.q
	h := q.handout()
	q.delivered++
	q.inFlight++
	h.e, h.owner, h.number, h.tenure = e, m, q.delivered, m.tenure
	if len(m.hand) == cap(m.hand) {
		m.compact()
	}
	h.slot = len(m.hand)
	m.hand = append(m.hand, h)
	m.held++
	e.state = inHand
	e.count++
	h.dress(e)
	return h
}

// drop takes a handout out of its owner's hand and returns its entry. It stays in the slice, where it is known by its
// slot, until the hand is empty or compacted.
func (h *handout) drop() *entry {
	m := h.owner
	m.q.inFlight--
	m.held--
	if m.held == 0 {
		m.hand = m.hand[:0]
	}
	h.owner = nil
	return h.e
}

// recycleHandout takes back a handout whose delivery was settled.
func (q *queue) recycleHandout(h *handout) {
	if q.poison {
		h.delivery = driver.Delivery{Token: h.delivery.Token, Tenure: h.delivery.Tenure}
		return
	}
	if len(q.handouts) < maxFreeHandouts {
		q.handouts = append(q.handouts, h)
	}
}

// holds reports whether place i of the hand is in use.
func (m *member) holds(i int) bool {
	h := m.hand[i]
	return h.owner == m && h.slot == i
}

// compact takes out of the slice what is not held any more.
func (m *member) compact() {
	n := 0
	for i, h := range m.hand {
		if m.holds(i) {
			h.slot = n
			m.hand[n] = h
			n++
		}
	}
	clear(m.hand[n:])
	m.hand = m.hand[:n]
	if 2*n > cap(m.hand) {
		grown := make([]*handout, n, 2*cap(m.hand))
		copy(grown, m.hand)
		m.hand = grown
	}
}

// abandon ends the tenure of all that is in hand, and begins a new one. It returns the entries.
func (m *member) abandon() []*entry {
	m.compact()
	hand := m.hand
	entries := make([]*entry, len(hand))
	for i, h := range hand {
		entries[i] = h.lose()
	}
	m.hand, m.held = nil, 0
	m.tags = tags{}
	m.tenure = m.q.b.tenure.Add(1)
	return entries
}

// lose ends the tenure of one handout and returns its entry, whose buffers are lent from now on.
func (h *handout) lose() *entry {
	e := h.drop()
	e.lent = true
	return e
}
