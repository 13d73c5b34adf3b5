package mem

import (
	"slices"

	"github.com/wherryhq/wherry/internal/keytable"
)

// strands are what a queue whose receivers own keys has ready, by key. What was sent waits in queue.ready, where senders put
// it whoever receives, until a receiver comes or is waited for; then it is sorted in, in publish order. It is guarded by the
// queue's mutex.
type strands struct {
	q     *queue
	keys  keytable.Table[strand]
	free  strandList // what nobody owns
	loose ring       // what has no key
	ready int        // entries in strands and loose
	turn  bool       // what nobody owns is next
}

// of returns the strand of a key, which is made where there is none.
func (s *strands) of(key []byte) *strand {
	n := s.keys.Of(key)
	n.Value.node = n
	return &n.Value
}

// place puts a strand into the list in which it belongs, behind the others where it was not in it, or forgets it when nothing of its key is left.
func (s *strands) place(k *strand) {
	var to *strandList
	switch {
	case k.first == nil && k.inHand == 0 && k.held == 0:
		if k.in != nil {
			k.in.remove(k)
		}
		s.keys.Retire(k.node)
		return
	case k.first == nil, k.held > 0:
	case k.owner == nil:
		to = &s.free
	case k.inHand < k.owner.most:
		to = &k.owner.strands
	}
	if k.in == to {
		return
	}
	if k.in != nil {
		k.in.remove(k)
	}
	if to != nil {
		to.push(k)
	}
}

// sort sorts up to n of what was sent by its keys.
func (s *strands) sort(n int) {
	q := s.q
	n = max(min(n, q.ready.n), 0)
	s.ready += n
	q.beside += n
	var hashes [keytable.AtOnce]uint64
	for n > 0 {
		some := hashes[:min(n, keytable.AtOnce)]
		for i := range some {
			some[i] = s.keys.Hash(q.ready.at(i).delivery.Key)
		}
		for _, hash := range some {
			s.sortOne(q.ready.pop(), hash)
		}
		n -= len(some)
	}
}

func (s *strands) sortOne(e *entry, hash uint64) {
	if len(e.delivery.Key) == 0 {
		s.loose.push(e)
		return
	}
	n := s.keys.OfHash(e.delivery.Key, hash)
	k := &n.Value
	k.node = n
	k.append(e)
	if k.in == nil {
		s.place(k)
	}
}

// back makes an entry ready again, at its place in the publish order of its key.
func (s *strands) back(e *entry) {
	if len(e.delivery.Key) == 0 {
		s.loose.insert(s.loose.place(e.seq), e)
		s.counted(e)
		return
	}
	k := s.strandOf(e)
	k.insert(e)
	s.counted(e)
	s.place(k)
}

// front makes an entry ready again in front of all others of its key.
func (s *strands) front(e *entry) {
	if len(e.delivery.Key) == 0 {
		s.loose.insert(0, e)
		s.counted(e)
		return
	}
	k := s.strandOf(e)
	k.prepend(e)
	s.counted(e)
	s.place(k)
}

// strandOf returns the strand of an entry that comes back, which waits for it no longer if it was held.
func (s *strands) strandOf(e *entry) *strand {
	k := e.strand
	if k == nil {
		return s.of(e.delivery.Key)
	}
	e.strand = nil
	k.held--
	return k
}

// counted notes that an entry is ready here.
func (s *strands) counted(e *entry) {
	e.state = ready
	s.q.bytes += e.size
	s.q.beside++
	s.ready++
}

// uncounted notes that an entry is ready here no longer.
func (s *strands) uncounted(e *entry) {
	s.q.bytes -= e.size
	s.q.beside--
	s.ready--
}

// hold has the key of an entry that was released with a delay wait for it.
func (s *strands) hold(e *entry) {
	if len(e.delivery.Key) == 0 {
		return
	}
	e.strand = s.of(e.delivery.Key)
	e.strand.held++
	s.place(e.strand)
}

// unhold takes back hold, for an entry that does not come back.
func (s *strands) unhold(e *entry) {
	if k := e.strand; k != nil {
		e.strand = nil
		k.held--
		s.place(k)
	}
}

// remove takes out an entry that is ready, and reports whether it was there.
func (s *strands) remove(e *entry) bool {
	if len(e.delivery.Key) == 0 {
		i := s.loose.index(e)
		if i < 0 {
			return false
		}
		s.loose.remove(i)
		s.uncounted(e)
		return true
	}
	n := s.keys.Get(e.delivery.Key)
	if n == nil || !n.Value.remove(e) {
		return false
	}
	s.uncounted(e)
	s.place(&n.Value)
	return true
}

// each calls f with all that was sorted in, in no order.
func (s *strands) each(f func(*entry)) {
	for i := range s.loose.n {
		f(s.loose.at(i))
	}
	s.keys.All(func(n *keytable.Node[strand]) bool {
		for e := n.Value.first; e != nil; e = e.after {
			f(e)
		}
		return true
	})
}

// own has the receivers of a queue own keys from now on. The caller holds the lock, and nothing is in hand.
func (q *queue) own() {
	q.strands = &strands{q: q}
	for i := range q.delay.heap {
		if e := q.delay.heap[i].e; !e.delayed {
			q.strands.hold(e)
		}
	}
}

// disown takes back own: any receiver may have anything.
func (q *queue) disown() {
	s := q.strands
	entries := make([]*entry, 0, s.ready+q.ready.n)
	s.each(func(e *entry) { entries = append(entries, e) })
	for q.ready.n > 0 {
		entries = append(entries, q.ready.pop())
	}
	slices.SortStableFunc(entries, bySeq)
	q.ready = ring{}
	for _, e := range entries {
		e.after = nil
		q.ready.push(e)
	}
	for i := range q.delay.heap {
		q.delay.heap[i].e.strand = nil
	}
	q.beside -= s.ready
	q.strands = nil
}
