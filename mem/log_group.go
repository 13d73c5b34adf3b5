package mem

import (
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A logGroup is those who share a topic. Each partition of the topic goes with that of the same number of what is sent to the
// group alone, so that a key has one owner. The broker's lock guards it.
type logGroup struct {
	t       *logTopic
	name    string
	own     *partitions    // of what is sent to the group alone; nil for a queue
	shares  []*share       // one for each partition
	members []*logReceiver // in the order in which they joined
}

// A share is what a receiver has of a topic as a whole: a partition of a group, or all that one reader reads of a topic's.
// It has an owner for a tenure, and is nobody's in between.
type share struct {
	b       *LogBroker
	group   *logGroup // nil of a reader
	cursors []*cursor
	owner   *logReceiver
	tenure  uint64
	// ending runs while a tenure that ends lets what is in hand be settled; nothing is taken meanwhile.
	ending *time.Timer
}

// add adds a partition, of which all from the position on is read.
func (s *share) add(p *partition, position uint64, lost *int64) *cursor {
	c := &cursor{share: s, log: p, commit: position, lost: lost}
	s.cursors = append(s.cursors, c)
	p.cursors = append(p.cursors, c)
	return c
}

// remove has the partitions forget a reader.
func (s *share) remove() {
	for _, c := range s.cursors {
		c.log.cursors = slices.DeleteFunc(c.log.cursors, func(other *cursor) bool { return other == c })
	}
}

// inHand is how many deliveries of the tenure are not settled.
func (s *share) inHand() int {
	n := 0
	for _, c := range s.cursors {
		if c.tracker != nil {
			n += c.tracker.Status().InHand
		}
	}
	return n
}

// give begins a tenure.
func (s *share) give(r *logReceiver) {
	s.owner, s.tenure = r, s.b.number()
	for _, c := range s.cursors {
		c.open()
	}
	r.shares = append(r.shares, s)
	r.rouse()
}

// take ends a tenure. What is unsettled of it is read again from the commit, by whoever is next.
func (s *share) take() {
	r := s.owner
	if r == nil {
		return
	}
	r.shares = slices.DeleteFunc(r.shares, func(other *share) bool { return other == s })
	s.owner = nil
	if s.ending != nil {
		s.ending.Stop()
		s.ending = nil
	}
	for _, c := range s.cursors {
		c.end()
	}
}

// lose ends the tenure at once, and tells.
func (s *share) lose() {
	r, tenure := s.owner, s.tenure
	s.take()
	r.tell(driver.Revocation{Tenure: tenure, Until: time.Now(), Lost: true})
}

// endAfter ends the tenure after grace, or when the engine is done with it, and tells.
func (s *share) endAfter(grace time.Duration) {
	if grace <= 0 {
		s.lose()
		return
	}
	tenure := s.tenure
	finish := func() { s.finish(tenure) }
	s.ending = time.AfterFunc(grace, finish)
	s.owner.tell(driver.Revocation{Tenure: tenure, Until: time.Now().Add(grace), Done: finish})
}

// finish takes the share from a tenure that was ending, and gives it to another.
func (s *share) finish(tenure uint64) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	if s.tenure != tenure || s.ending == nil {
		return
	}
	r := s.owner
	s.take()
	if s.group != nil {
		s.group.balance()
	}
	r.rouse() // a reader begins its next tenure, and a member that was told to wait looks again
}

// join makes a receiver a member.
func (g *logGroup) join(r *logReceiver) {
	if slices.Contains(g.members, r) {
		return
	}
	g.members = append(g.members, r)
	g.balance()
}

// leave ends a membership. It does not take the partitions of the receiver, which may have time to settle.
func (g *logGroup) leave(r *logReceiver) {
	g.members = slices.DeleteFunc(g.members, func(other *logReceiver) bool { return other == r })
}

// balance gives every partition an owner, none of them more than one partition above another. What has an owner moves as
// little as that takes, and first what nothing is in hand of, which needs no time.
func (g *logGroup) balance() {
	if len(g.members) == 0 {
		return
	}
	b := newBalance(g)
	for _, s := range g.shares {
		switch {
		case s.owner == nil:
			s.give(b.poorest())
			b.has[s.owner]++
		case s.ending != nil:
			b.has[b.poorest()]++ // who will get it
		}
	}
	for {
		rich, poor := b.richest(), b.poorest()
		if b.has[rich] <= b.has[poor]+1 {
			return
		}
		s := b.cheapest(rich)
		if s == nil {
			return
		}
		if s.inHand() > 0 {
			s.endAfter(s.b.cfg.Rebalance)
		} else {
			s.lose()
			s.give(poor)
		}
		b.has[rich]--
		b.has[poor]++
	}
}

// A balance is how many partitions each member of a group has, or is about to have.
type balance struct {
	g   *logGroup
	has map[*logReceiver]int
}

func newBalance(g *logGroup) balance {
	b := balance{g, map[*logReceiver]int{}}
	for _, s := range g.shares {
		if s.owner != nil && s.ending == nil {
			b.has[s.owner]++
		}
	}
	return b
}

// poorest is the member with the fewest, the first of several.
func (b *balance) poorest() *logReceiver {
	return slices.MinFunc(b.g.members, func(x, y *logReceiver) int { return b.has[x] - b.has[y] })
}

func (b *balance) richest() *logReceiver {
	return slices.MaxFunc(b.g.members, func(x, y *logReceiver) int { return b.has[x] - b.has[y] })
}

// cheapest is the partition of a member that costs least to move.
func (b *balance) cheapest(r *logReceiver) *share {
	var least *share
	n := 0
	for _, s := range b.g.shares {
		if s.owner != r || s.ending != nil {
			continue
		}
		if in := s.inHand(); least == nil || in < n {
			least, n = s, in
		}
	}
	return least
}
