package wherry

import "github.com/wherryhq/wherry/driver"

// endTenureLocked forgets what no handler has touched of a tenure that ends, and returns how many. It is not given back one by
// one: what is unsettled of a tenure goes back as a whole, in order. What came of the next tenure before this one's end was told
// stands behind it, and stays.
func (s *sequencer) endTenureLocked(tenure uint64) int {
	count := 0
	of := func(d *driver.Delivery) bool { return d.Tenure == tenure }
	s.unreadyAllLocked(of)
	s.eachLocked(func(n *seqNode) { count += s.loseLocked(n, of) })
	s.rouseLocked()
	return count
}

// loseLocked forgets what is lost of a key and no handler has touched, and returns how many. What is in hand, or on its way to
// another topic, goes on.
func (s *sequencer) loseLocked(n *seqNode, lost func(d *driver.Delivery) bool) int {
	k := &n.Value
	first := lost(k.head)
	count := s.cutLocked(k, lost)
	if !first {
		return count
	}
	switch k.state {
	case keyHandled, keyMoving:
		k.lost = true
		return count
	case keyReady:
		s.unreadyLocked(n)
	case keyWaiting:
		s.undueLocked(n)
	case keyNew:
	}
	s.forgetLocked(k.head)
	s.nextLocked(n)
	return count + 1
}

// cutLocked forgets what is lost of what waits behind a key's first.
func (s *sequencer) cutLocked(k *sequenceKey, lost func(d *driver.Delivery) bool) int {
	count := 0
	crowded := s.isCrowded(k)
	k.end = nil
	for at := &k.next; *at != nil; {
		one := *at
		if !lost(one.d) {
			k.end = one
			at = &one.next
			continue
		}
		*at = one.next
		s.waiting--
		s.bytes -= one.d.Size()
		s.forgetLocked(one.d)
		k.n--
		count++
	}
	if crowded && !s.isCrowded(k) {
		s.crowded--
	}
	return count
}

// unreadyAllLocked takes the keys whose first is lost out of the ready ones, all in one pass.
func (s *sequencer) unreadyAllLocked(lost func(d *driver.Delivery) bool) {
	rest := s.first
	s.first, s.last, s.ready = nil, nil, 0
	for rest != nil {
		n := rest
		rest = n.Value.after
		if lost(n.Value.head) {
			n.Value.state, n.Value.after = keyNew, nil
		} else {
			s.readyLocked(n)
		}
	}
}

// unreadyLocked takes a key out of the ready ones.
func (s *sequencer) unreadyLocked(n *seqNode) {
	var before *seqNode
	for at := s.first; at != n; at = at.Value.after {
		before = at
	}
	if before == nil {
		s.first = n.Value.after
	} else {
		before.Value.after = n.Value.after
	}
	if s.last == n {
		s.last = before
	}
	s.ready--
}

// loseOneLocked forgets a delivery whose lease is gone, if no handler has it, with what came after it of its key in the same
// tenure, which would be out of order.
func (s *sequencer) loseOneLocked(d *driver.Delivery) {
	n := s.holderOf(d)
	if n == nil {
		return
	}
	after := n.Value.head == d
	s.loseLocked(n, func(other *driver.Delivery) bool {
		after = after || other == d
		return after && other.Tenure == d.Tenure
	})
	s.rouseLocked()
}

// holderOf is the key that a delivery stands behind, nil where there is none.
func (s *sequencer) holderOf(d *driver.Delivery) *seqNode {
	if s.ordered && len(d.Key) > 0 {
		return s.keys.Get(d.Key)
	}
	for n := s.loose; n != nil; n = n.Value.right {
		if n.Value.head == d {
			return n
		}
	}
	return nil
}
