package mem

import (
	"bytes"
	"hash/maphash"
	"slices"
)

const (
	// fewBuckets is the size of a table that is never made smaller, and maxSpareStrands bounds the strands that are kept
	// to be used again: as many as keys that are in use all the time may need.
	fewBuckets      = 1 << 10
	maxSpareStrands = 1 << 10
	// maxKeptKey is the largest buffer for a key that a spare strand keeps.
	maxKeptKey = 256
)

// strands are what a queue whose receivers own keys has ready, by key. What was sent waits in queue.ready, where senders put
// it whoever receives, until a receiver comes or is waited for; then it is sorted in, in publish order. It is guarded by the
// queue's mutex.
//
// The table is no map, which would keep its size, and each key that there ever was would cost an allocation.
type strands struct {
	q       *queue
	seed    maphash.Seed
	buckets []*strand // its length is a power of two
	n       int       // strands in the buckets
	spare   *strand   // linked by chain
	spares  int

	free  strandList // what nobody owns
	loose ring       // what has no key
	ready int        // entries in strands and loose
	turn  bool       // what nobody owns is next
}

func newStrands(q *queue) *strands {
	return &strands{q: q, seed: maphash.MakeSeed()}
}

// find returns the strand of a key, or nil.
func (s *strands) find(key []byte) *strand {
	if s.n == 0 {
		return nil
	}
	return s.findIn(key, maphash.Bytes(s.seed, key))
}

func (s *strands) findIn(key []byte, hash uint64) *strand {
	for k := s.buckets[hash&uint64(len(s.buckets)-1)]; k != nil; k = k.chain {
		if k.hash == hash && bytes.Equal(k.key, key) {
			return k
		}
	}
	return nil
}

// of returns the strand of a key, which is made where there is none.
func (s *strands) of(key []byte) *strand {
	hash := maphash.Bytes(s.seed, key)
	if s.n > 0 {
		if k := s.findIn(key, hash); k != nil {
			return k
		}
	}
	if s.n >= len(s.buckets) {
		s.resize(max(64, 2*len(s.buckets)))
	}
	k := s.spare
	if k == nil {
		k = &strand{}
	} else {
		s.spare = k.chain
		s.spares--
	}
	k.hash = hash
	k.key = append(k.key[:0], key...)
	s.link(k)
	s.n++
	return k
}

func (s *strands) link(k *strand) {
	b := &s.buckets[k.hash&uint64(len(s.buckets)-1)]
	k.chain, *b = *b, k
}

func (s *strands) resize(n int) {
	old := s.buckets
	s.buckets = make([]*strand, n)
	for _, k := range old {
		for k != nil {
			next := k.chain
			s.link(k)
			k = next
		}
	}
}

// forget takes a strand of which nothing is left out of the table.
func (s *strands) forget(k *strand) {
	b := &s.buckets[k.hash&uint64(len(s.buckets)-1)]
	for *b != k {
		b = &(*b).chain
	}
	*b, k.chain = k.chain, nil
	s.n--
	if s.spares < maxSpareStrands {
		if cap(k.key) > maxKeptKey {
			k.key = nil
		}
		k.chain, s.spare = s.spare, k
		s.spares++
	}
	if len(s.buckets) > fewBuckets && s.n < len(s.buckets)/8 {
		s.resize(len(s.buckets) / 2)
	}
}

// place puts a strand into the list in which it belongs, behind the others where it was not in it, or forgets it.
func (s *strands) place(k *strand) {
	var to *strandList
	switch {
	case k.first == nil && k.inHand == 0 && k.held == 0:
		if k.in != nil {
			k.in.remove(k)
		}
		s.forget(k)
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
	n = min(n, q.ready.n)
	for range n {
		e := q.ready.pop()
		if len(e.delivery.Key) == 0 {
			s.loose.push(e)
			continue
		}
		k := s.of(e.delivery.Key)
		k.append(e)
		if k.in == nil {
			s.place(k)
		}
	}
	s.ready += n
	q.beside += n
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
	k := s.find(e.delivery.Key)
	if k == nil || !k.remove(e) {
		return false
	}
	s.uncounted(e)
	s.place(k)
	return true
}

// each calls f with all that was sorted in, in no order.
func (s *strands) each(f func(*entry)) {
	for i := range s.loose.n {
		f(s.loose.at(i))
	}
	for _, k := range s.buckets {
		for ; k != nil; k = k.chain {
			for e := k.first; e != nil; e = e.after {
				f(e)
			}
		}
	}
}

// own has the receivers of a queue own keys from now on. The caller holds the lock, and nothing is in hand.
func (q *queue) own() {
	q.strands = newStrands(q)
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
