package wherry

import "github.com/wherryhq/wherry/driver"

// endTenureLocked forgets what no handler has touched of a tenure that ends, and returns how many. It is not given back one by
// one: what is unsettled of a tenure goes back as a whole, in order. Of what is in hand, or on its way to another topic, nothing
// follows.
func (s *sequencer) endTenureLocked(tenure uint64) int {
	count := 0
	s.eachLocked(func(n *seqNode) {
		if n.Value.head.Tenure == tenure {
			count += s.loseLocked(n)
		}
	})
	return count
}

// loseLocked forgets a key with all that no handler has touched, and returns how many.
func (s *sequencer) loseLocked(n *seqNode) int {
	k := &n.Value
	count := s.cutLocked(n, &k.next)
	switch k.state {
	case keyHandled, keyMoving:
		s.waiting--
		s.bytes -= k.head.Size()
		k.n, k.lost = 0, true
		return count
	case keyReady:
		s.unreadyLocked(n)
	case keyWaiting:
		s.undueLocked(n)
	case keyNew:
	}
	s.forgetLocked(k.head)
	s.dropHeadLocked(n)
	s.removeLocked(n)
	return count + 1
}

// cutLocked forgets what waits behind a key's first, from the given place on.
func (s *sequencer) cutLocked(n *seqNode, from **seqDelivery) int {
	k := &n.Value
	count := 0
	crowded := s.isCrowded(k)
	for one := *from; one != nil; one = one.next {
		s.waiting--
		s.bytes -= one.d.Size()
		s.forgetLocked(one.d)
		k.n--
		count++
	}
	*from = nil
	k.end = nil
	for one := k.next; one != nil; one = one.next {
		k.end = one
	}
	if crowded && !s.isCrowded(k) {
		s.crowded--
	}
	return count
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
}

// loseOneLocked forgets a delivery whose lease is gone, if no handler has it, with what comes after it of its key, which would be
// out of order.
func (s *sequencer) loseOneLocked(d *driver.Delivery) {
	n := s.holderOf(d)
	if n == nil {
		return
	}
	if n.Value.head == d {
		s.loseLocked(n)
		return
	}
	for at := &n.Value.next; *at != nil; at = &(*at).next {
		if (*at).d == d {
			s.cutLocked(n, at)
			return
		}
	}
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
