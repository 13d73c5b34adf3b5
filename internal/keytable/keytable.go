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
	// maxFree is the most nodes that are kept for other keys.
	maxFree = 1024
	// largestKept is the largest buffer of a key that is kept with them.
	largestKept = 256
)

// A Table is a hash table with chains. Its zero value is empty and ready for use. It is not safe for concurrent use.
type Table[V any] struct {
	seed    maphash.Seed
	buckets []*Node[V] // a power of two
	n       int
	free    *Node[V]
	spare   int // how many are free
}

// A Node is a key in a table, or outside of any, and its value. Who holds one may change Value.
type Node[V any] struct {
	Value V
	key   []byte
	hash  uint64
	next  *Node[V]
	in    bool
}

// Key is the key, which must not be changed. It is valid until the node is removed.
func (n *Node[V]) Key() []byte { return n.key }

// Len is the number of keys in the table.
func (t *Table[V]) Len() int { return t.n }

// Get returns the node of a key, nil where there is none.
func (t *Table[V]) Get(key []byte) *Node[V] {
	if t.n == 0 {
		return nil
	}
	return t.get(key, maphash.Bytes(t.seed, key))
}

func (t *Table[V]) get(key []byte, hash uint64) *Node[V] {
	for n := t.buckets[hash&uint64(len(t.buckets)-1)]; n != nil; n = n.next {
		if n.hash == hash && bytes.Equal(n.key, key) {
			return n
		}
	}
	return nil
}

// Add returns a node for a copy of a key that is not in the table. Its value is zero.
func (t *Table[V]) Add(key []byte) *Node[V] {
	if t.buckets == nil {
		t.begin()
	}
	return t.add(key, maphash.Bytes(t.seed, key))
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
func (t *Table[V]) Of(key []byte) *Node[V] {
	if t.buckets == nil {
		t.begin()
	}
	hash := maphash.Bytes(t.seed, key)
	if n := t.get(key, hash); n != nil {
		return n
	}
	return t.add(key, hash)
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
	if t.spare == maxFree || cap(n.key) > largestKept {
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
			all = append(all, n)
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
