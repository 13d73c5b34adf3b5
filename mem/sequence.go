package mem

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

const (
	// keyShare is the part of its prefetch that a receiver may have in hand of one key, so that a key that does not move
	// leaves it credit for the others, and leastOfKey what it may have at least.
	keyShare   = 4
	leastOfKey = 64
	// sortFirst is how much is sorted in when a receiver comes, at least: more than most take, so that a key of which much waits
	// is not in front of all others, and not so much that it is in no cache any more when it is taken. sortStep is how much more
	// while nothing that can be taken was found.
	sortFirst = 1 << 10
	sortStep  = 64
)

// A mode is how receivers of a queue share it.
type mode uint8

const (
	competing mode = iota // any may have anything
	owning                // a key is with one at a time
	reading               // there is one, and the queue is its own
)

// mostOfKey is how many deliveries of a key a receiver may have in hand.
func mostOfKey(prefetch int) int { return max(leastOfKey, prefetch/keyShare) }

// OpenSequence opens a receiver that owns keys of queues. A key belongs to the receiver that has any of it in hand: the
// others get none of it until all of that is settled or its tenure ended, and then whoever comes first. So a key has no
// fixed place, and one that is slow keeps nothing but itself waiting. Receivers that are idle share what nobody owns.
//
// All that is in hand of a key is in publish order. What is released comes again before what was not handed out; what was
// handed out already stays where it is, so that a receiver which wants order gives back all of a key, or closes. While a
// record that was released with a delay is not due, the rest of its key waits. What a receiver gives up by closing, or by
// losing its tenure, comes again in publish order. A record that was sent with a due time takes its place when it is due.
//
// Records without a key have no order among each other and no owner: any receiver may have any of them at any time.
//
// A receiver has at most a quarter of its Prefetch in hand of one key, and 64 where that is more, so that a key which does not
// move leaves it credit for others.
//
// A queue has either receivers that own keys or competing ones, and opening one beside those of the other manner is an
// error. Once they are closed it may change. See [Broker.OpenGroup] for what the receiver can do.
func (b *Broker) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if s.Group != "" {
		return nil, fmt.Errorf("mem: a sequence is opened with group %q: use OpenGroupSequence", s.Group)
	}
	return b.open(ctx, s, owning)
}

// OpenGroupSequence opens a member of a group that owns keys, as [Broker.OpenSequence] does of a queue. The group exists from
// now on. Each group has its own owners.
func (b *Broker) OpenGroupSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if s.Group == "" {
		return nil, errors.New("mem: a sequence of a group is opened without the group's name")
	}
	return b.open(ctx, s, owning)
}

// suits returns why no receiver may be opened in the mode.
func (q *queue) suits(how mode) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.members) == 0 || q.members[0].r.how == how {
		return nil
	}
	has, wants := "receivers that own keys", "a competing receiver"
	if how == owning {
		has, wants = "competing receivers", "a receiver that owns keys"
	}
	return fmt.Errorf("mem: %q has %s, and %s cannot be opened beside them: open all as sequences, or none", q.name(), has, wants)
}

// enter makes m a member.
func (q *queue) enter(m *member) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case m.r.how == owning && q.strands == nil:
		q.own()
	case m.r.how != owning && q.strands != nil:
		q.disown()
	}
	q.members = append(q.members, m)
}

// takeOwn is the part of take under the lock, where receivers own keys.
func (m *member) takeOwn(dst []*driver.Delivery, wait bool) []*driver.Delivery {
	q := m.q
	contended := len(q.members) > 1
	if contended {
		q.brisk.came(m)
	}
	had := len(dst)
	if m.ending == nil {
		dst = m.giveOwn(dst)
	}
	n := len(dst) - had
	if n == 0 {
		q.strands.trim()
		if wait && m.ending == nil {
			q.await(m)
		}
		return dst
	}
	if contended {
		m.pace.Begin(n)
	}
	m.lease(n)
	if q.room.first != nil {
		q.admit()
	}
	return dst
}

// giveOwn hands out what the member may have, and fills dst at most.
func (m *member) giveOwn(dst []*driver.Delivery) []*driver.Delivery {
	q, s := m.q, m.q.strands
	calm := q.b.calm.Load()
	space := cap(dst) - len(dst)
	if !calm {
		s.lossy(m)
		space = min(space, q.open())
	}
	if space == 0 {
		return dst
	}
	m.reserve(min(space, q.waits()))
	sought := seeking{m: m, others: len(q.idle)}
	if q.waking {
		sought.others++
	}
	if q.brisk.m == m {
		sought.others = 0
	}
	s.sort(max(sortFirst, space) - s.ready)
	var twice []*entry
	for range space {
		if !calm {
			s.shuffle(m)
		}
		e := s.seek(&sought)
		if e == nil {
			break
		}
		dst = append(dst, m.receive(e))
		if !calm {
			twice = m.odd(e, twice)
		}
	}
	for _, e := range twice {
		q.requeue(e)
	}
	return dst
}

// receive puts one entry into the member's hand.
func (m *member) receive(e *entry) *driver.Delivery {
	q := m.q
	e.owner, e.state, e.slot = m, inHand, uint32(len(m.hand))
	e.count++
	m.hand = append(m.hand, e)
	m.held++
	q.inFlight++
	q.delivered++
	d := &e.delivery
	d.Token.A, d.Token.B, d.Tenure = e.seq, q.delivered, m.tenure
	d.Delivered, d.Slot = int(e.count), 0
	return d
}

// seeking is what a member took in one Receive of what nobody owned.
type seeking struct {
	m      *member
	taken  int
	others int // members that wait for some, too
}

// may reports whether the member may take more of what nobody owns, of which there are so many.
func (s *seeking) may(unowned int) bool {
	return unowned > 0 && (s.others == 0 || (s.taken+1)*(s.others+1) <= unowned+s.taken+s.others)
}

// seek takes out the next entry that the member may have, and makes it the owner of its key. It is nil when there is none. What
// the member owns and what nobody does take turns, and so do the keys of each, or one that never ends would keep the others
// waiting.
func (s *strands) seek(of *seeking) *entry {
	for {
		own, unowned := of.m.strands.first, of.may(s.unowned())
		if own == nil && !unowned {
			if s.q.ready.n == 0 {
				return nil
			}
			s.sort(sortStep)
			continue
		}
		if own != nil && (!unowned || !s.turn) {
			s.turn = true
			return s.takeOf(own, of.m)
		}
		s.turn = false
		of.taken++
		if s.free.n == 0 || s.loose.n > 0 && s.loose.at(0).seq < s.free.first.first.seq {
			e := s.loose.pop()
			s.uncounted(e)
			return e
		}
		return s.takeOf(s.free.first, of.m)
	}
}

// unowned is how many keys there are that nobody owns, and records without a key.
func (s *strands) unowned() int { return s.free.n + s.loose.n }

// takeOf takes the first entry of a strand for its owner, and puts the strand behind the others.
func (s *strands) takeOf(k *strand, m *member) *entry {
	e := k.pop()
	e.strand = k
	k.owner = m
	k.inHand++
	s.uncounted(e)
	k.in.remove(k)
	s.place(k)
	return e
}

// drop takes an entry out of its strand, which is owned for as long as there is another.
func (s *strands) drop(e *entry) {
	k := e.strand
	if k == nil {
		return
	}
	e.strand = nil
	k.inHand--
	if k.inHand == 0 {
		k.owner = nil
	}
	s.place(k)
}

// release makes an entry ready again that its owner gave back.
func (s *strands) release(e *entry) {
	switch w := &s.q.b.cfg.Weak; {
	case w.RequeueBehindNew:
		s.q.push(e)
	case w.RequeueInNackOrder:
		s.front(e)
	default:
		s.back(e)
	}
}

// settleDone is settleDone of a queue whose receivers own keys.
func (s *strands) settleDone(m *member, batch []driver.Settlement) []driver.Settlement {
	n := 0
	for n < len(batch) {
		if !m.finishes(&batch[n]) {
			break
		}
		e := entryOf(batch[n].Delivery)
		e.owner = nil
		s.drop(e)
		s.q.recycle(e)
		n++
	}
	m.dropped(n)
	s.trim()
	return batch[n:]
}

// waiter is waiter of a queue whose receivers own keys: who waits for what it owns is woken first, whoever is brisk, since
// nobody else can take it.
func (s *strands) waiter() *member {
	q := s.q
	if q.waking || !q.b.calm.Load() && q.open() == 0 {
		return nil
	}
	for {
		for i, m := range slices.Backward(q.idle) {
			if m.strands.n > 0 {
				return q.woken(i)
			}
		}
		if s.unowned() > 0 && !q.holdsOff() {
			return q.woken(len(q.idle) - 1)
		}
		if q.ready.n == 0 {
			return nil
		}
		s.sort(sortStep)
	}
}

// open is how many entries of the queue may be handed out while something is switched on.
func (q *queue) open() int {
	if q.b.faults.halted(q.topic) {
		return 0
	}
	return q.credit()
}

// lossy drops what is to be dropped of what the member could take now.
func (s *strands) lossy(m *member) {
	q := s.q
	if q.open() == 0 {
		return
	}
	for {
		s.sort(math.MaxInt)
		if m.strands.n+s.unowned() == 0 || !q.loses() {
			break
		}
		e := s.seek(&seeking{m: m})
		s.drop(e)
		q.recycle(e)
	}
	q.admit()
}

// shuffle puts another key first, while Faults.Reorder is on. The records of one key stay in their order.
func (s *strands) shuffle(m *member) {
	q := s.q
	q.b.faults.happens(q.topic, func(t *topicFaults) bool {
		if t.shuffle == nil {
			return false
		}
		s.sort(math.MaxInt)
		for _, l := range []*strandList{&m.strands, &s.free} {
			for range t.shuffle.IntN(max(1, l.n)) {
				k := l.first
				l.remove(k)
				l.push(k)
			}
		}
		if s.loose.n > 0 {
			e := s.loose.remove(t.shuffle.IntN(s.loose.n))
			s.loose.insert(0, e)
		}
		s.turn = t.shuffle.IntN(2) == 0
		return true
	})
}

// keptFree is how many free entries a queue whose receivers own keys keeps once nothing of any key is left, and keptFreeBytes
// what their buffers may take together.
const (
	keptFree      = 1 << 10
	keptFreeBytes = 256 << 10
)

// trim gives up memory that many keys at once needed, once none is left.
func (s *strands) trim() {
	q := s.q
	if s.keys.Len() > 0 || q.free.n+len(q.freeLarge) <= keptFree || q.waits() > 0 {
		return
	}
	var kept ring
	for q.free.n > 0 && kept.n < keptFree/2 {
		kept.push(q.free.pop())
	}
	q.free = kept
	var large []*entry
	size := 0
	for _, e := range q.freeLarge {
		if len(large) < keptFree-kept.n && size+e.kept <= keptFreeBytes {
			large = append(large, e)
			size += e.kept
		}
	}
	q.freeLarge, q.freeBytes = large, size
	q.ready, s.loose = ring{}, ring{}
	for _, m := range q.members {
		if m.held == 0 {
			clear(m.hand[:cap(m.hand)]) // it names entries that were settled long ago
		}
	}
}
