// Package keytable maps keys, which are bytes, to values, and allocates nothing for keys that come and go: what a key had is
// used again for another, and what a great many had is given back.
package keytable

import (
	"bytes"
	"hash/maphash"
)

const (
	// leastBuckets is the size of a table that is not empty, and keptBuckets one that is kept when it empties.
	leastBuckets = 64
	keptBuckets  = 4096
	// maxFree is the most nodes that are kept for other keys, those of retired ones included.
	maxFree = 1024
	// largestKept is the largest buffer of a key that is kept with them.
	largestKept = 256
)

// A Table is a hash table with chains. Its zero value is empty and ready for use. It is not safe for concurrent use.
type Table[V any] struct {
	seed    maphash.Seed
	buckets []*Node[V] // a power of two
	n       int        // retired ones included
	free    *Node[V]
	spare   int // how many are free
	// Retired nodes are found by their keys until as many others have retired. A place names one for as long as the node
	// says so too.
	retired []*Node[V]
	resting int // how many they are
	hand    int // the next place
}

// A Node is a key in a table, or outside of any, and its value. Who holds one may change Value.
type Node[V any] struct {
	Value V
	key   []byte
	hash  uint64
	next  *Node[V]
	in    bool
	place int // of a retired one, from 1
}

// Key is the key, which must not be changed. It is valid until the node is removed.
func (n *Node[V]) Key() []byte { return n.key }

// Len is the number of keys in the table.
func (t *Table[V]) Len() int { return t.n - t.resting }

// Get returns the node of a key, nil where there is none.
func (t *Table[V]) Get(key []byte) *Node[V] {
	if t.n == 0 {
		return nil
	}
	n := t.get(key, maphash.Bytes(t.seed, key))
	if n != nil && n.place > 0 {
		return nil
	}
	return n
}

func (t *Table[V]) get(key []byte, hash uint64) *Node[V] {
	for n := t.buckets[hash&uint64(len(t.buckets)-1)]; n != nil; n = n.next {
		if n.hash == hash && bytes.Equal(n.key, key) {
			return n
		}
	}
	return nil
}

// begin makes a table that never had a key ready for one.
func (t *Table[V]) begin() {
	t.seed = maphash.MakeSeed()
	t.resize(leastBuckets)
}

func (t *Table[V]) add(key []byte, hash uint64) *Node[V] {
	if t.n == len(t.buckets) {
		t.resize(2 * len(t.buckets))
	}
	n := t.Loose()
	n.key = append(n.key[:0], key...)
	n.hash, n.in = hash, true
	t.link(n)
	t.n++
	return n
}

// Of returns the node of a key, which is added where there is none.
func (t *Table[V]) Of(key []byte) *Node[V] { return t.OfHash(key, t.Hash(key)) }

// AtOnce is of how many keys who asks for many has the hashes before it asks for the first of them. Keys that waited for long are
// in no cache, and the processor fetches several at once where one does not wait for another.
const AtOnce = 16

// Hash is what OfHash wants to know of a key. See [AtOnce].
func (t *Table[V]) Hash(key []byte) uint64 {
	if t.buckets == nil {
		t.begin()
	}
	return maphash.Bytes(t.seed, key)
}

// OfHash is Of for a key whose hash is known.
func (t *Table[V]) OfHash(key []byte, hash uint64) *Node[V] {
	n := t.get(key, hash)
	if n == nil {
		return t.add(key, hash)
	}
	if n.place > 0 {
		n.place = 0
		t.resting--
	}
	return n
}

// Retire is Remove for a key that may come again soon: its node is taken out when as many others have retired since, and used
// again for the key until then.
func (t *Table[V]) Retire(n *Node[V]) {
	if !n.in || cap(n.key) > largestKept {
		t.Remove(n)
		return
	}
	if t.retired == nil {
		t.retired = make([]*Node[V], maxFree)
	}
	old := t.retired[t.hand]
	t.retired[t.hand] = n
	t.hand++
	if old != nil && old.place == t.hand {
		old.place = 0
		t.resting--
		t.Remove(old)
	}
	var zero V
	n.Value, n.place = zero, t.hand
	t.resting++
	t.hand %= len(t.retired)
}

// Loose returns a node that has no key and is not in the table. Remove takes it back.
func (t *Table[V]) Loose() *Node[V] {
	n := t.free
	if n == nil {
		return &Node[V]{}
	}
	t.free, n.next = n.next, nil
	t.spare--
	return n
}

// Remove takes a node out, which is not to be used any more.
func (t *Table[V]) Remove(n *Node[V]) {
	if n.in {
		at := &t.buckets[n.hash&uint64(len(t.buckets)-1)]
		for *at != n {
			at = &(*at).next
		}
		*at = n.next
		t.n--
		n.in = false
		if len(t.buckets) > keptBuckets && t.n < len(t.buckets)/8 {
			t.resize(len(t.buckets) / 2)
		}
	}
	var zero V
	n.Value, n.key, n.next = zero, n.key[:0], nil
	if t.spare+t.resting >= maxFree || cap(n.key) > largestKept {
		return
	}
	n.next, t.free = t.free, n
	t.spare++
}

// All calls f for each node of the table, in no order, until it returns false. f may remove the node that it is called for, and
// no other.
func (t *Table[V]) All(f func(*Node[V]) bool) {
	all := make([]*Node[V], 0, t.n)
	for _, n := range t.buckets {
		for ; n != nil; n = n.next {
			if n.place == 0 {
				all = append(all, n)
			}
		}
	}
	for _, n := range all {
		if !f(n) {
			return
		}
	}
}

func (t *Table[V]) link(n *Node[V]) {
	at := &t.buckets[n.hash&uint64(len(t.buckets)-1)]
	n.next, *at = *at, n
}

func (t *Table[V]) resize(size int) {
	old := t.buckets
	t.buckets = make([]*Node[V], size)
	for _, n := range old {
		for n != nil {
			next := n.next
			t.link(n)
			n = next
		}
	}
}
