package mem

import (
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// give puts the first n ready entries into the member's hand and appends their deliveries to dst.
func (m *member) give(dst []*driver.Delivery, n int) []*driver.Delivery {
	q := m.q
	m.reserve(n)
	first, bytes := len(m.hand), 0
	m.hand = m.hand[:first+n]
	dst = slices.Grow(dst, n)[:len(dst)+n]
	hand, given := m.hand[first:], dst[len(dst)-n:]
	q.ready.popTo(hand)
	number, tenure := q.delivered, m.tenure
	for i, e := range hand {
		bytes += e.size
		e.owner, e.state, e.slot = m, inHand, uint32(first+i)
		e.count++
		number++
		d := &e.delivery
		d.Token.A, d.Token.B, d.Tenure = e.seq, number, tenure
		d.Delivered, d.Slot = int(e.count), 0
		given[i] = d
	}
	q.delivered = number
	q.bytes -= bytes
	q.inFlight += n
	m.held += n
	return dst
}

// drop takes an entry out of its owner's hand. It stays in the slice, where it is known by its slot, until the hand is
// empty or compacted.
func (e *entry) drop() {
	m := e.owner
	e.owner = nil
	if s := m.q.strands; s != nil {
		s.drop(e)
	}
	m.dropped(1)
}

// dropped notes that n entries have no owner any more.
func (m *member) dropped(n int) {
	m.q.inFlight -= n
	m.held -= n
	if m.held == 0 {
		m.hand = m.hand[:0]
	}
}

// holds reports whether place i of the hand is in use.
func (m *member) holds(i int) bool {
	e := m.hand[i]
	return e.owner == m && int(e.slot) == i
}

// reserve makes room for n more in the hand.
func (m *member) reserve(n int) {
	if len(m.hand)+n <= cap(m.hand) {
		return
	}
	m.compact()
	if need := len(m.hand) + n; 2*need > cap(m.hand) {
		grown := make([]*entry, len(m.hand), 2*need)
		copy(grown, m.hand)
		m.hand = grown
	}
}

// compact takes out of the slice what is not held any more.
func (m *member) compact() {
	n := 0
	for i, e := range m.hand {
		if m.holds(i) {
			e.slot = uint32(n)
			m.hand[n] = e
			n++
		}
	}
	clear(m.hand[n:])
	m.hand = m.hand[:n]
}

// abandon ends the tenure of all that is in hand, and begins a new one. It returns the entries of the records.
func (m *member) abandon() []*entry {
	m.q.brisk.left(m)
	m.compact()
	hand := m.hand
	entries := make([]*entry, len(hand))
	for i, e := range hand {
		entries[i] = e.lose()
	}
	m.hand, m.held = nil, 0
	m.tags = tags{}
	m.tenure = m.q.b.tenure.Add(1)
	return entries
}

// lose ends the tenure of one entry and returns the one that takes its place, whose buffers are lent from now on.
func (e *entry) lose() *entry {
	e.drop()
	e.lent, e.plain = true, false
	return e.again()
}
