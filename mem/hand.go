package mem

// give puts an entry into the member's hand.
func (m *member) give(e *entry) {
	q := m.q
	if len(m.hand) == cap(m.hand) {
		m.compact()
	}
	q.delivered++
	q.inFlight++
	m.held++
	e.owner, e.number, e.tenure, e.state = m, q.delivered, m.tenure, inHand
	e.count++
	e.slot = len(m.hand)
	m.hand = append(m.hand, e)
	d := &e.delivery
	d.Token.A, d.Token.B, d.Tenure = e.seq, e.number, e.tenure
	d.Delivered, d.Slot = int(e.count), 0
}

// drop takes an entry out of its owner's hand. It stays in the slice, where it is known by its slot, until the hand is
// empty or compacted.
func (e *entry) drop() {
	m := e.owner
	m.q.inFlight--
	m.held--
	if m.held == 0 {
		m.hand = m.hand[:0]
	}
	e.owner = nil
}

// holds reports whether place i of the hand is in use.
func (m *member) holds(i int) bool {
	e := m.hand[i]
	return e.owner == m && e.slot == i
}

// compact takes out of the slice what is not held any more.
func (m *member) compact() {
	n := 0
	for i, e := range m.hand {
		if m.holds(i) {
			e.slot = n
			m.hand[n] = e
			n++
		}
	}
	clear(m.hand[n:])
	m.hand = m.hand[:n]
	if 2*n > cap(m.hand) || cap(m.hand) == 0 {
		grown := make([]*entry, n, max(leastHand, 2*cap(m.hand)))
		copy(grown, m.hand)
		m.hand = grown
	}
}

// leastHand is the smallest capacity of a hand.
const leastHand = 16

// abandon ends the tenure of all that is in hand, and begins a new one. It returns the entries of the records.
func (m *member) abandon() []*entry {
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
	e.lent = true
	return e.again()
}
