package ledger

import "sync/atomic"

// Keys watches the order of messages whose key is their number modulo the number of keys. It is for handlers of which no two
// have the same key at once, and none begins with a key before another is done with it: then each key is written by one
// goroutine at a time.
type Keys struct {
	next      []uint32 // of each key, one more than its last number
	reordered atomic.Int64
}

// NewKeys returns one for so many keys.
func NewKeys(n int) *Keys { return &Keys{next: make([]uint32, n)} }

// Note notes that a message is handled.
func (k *Keys) Note(id uint32) {
	next := &k.next[id%uint32(len(k.next))]
	if id < *next {
		k.reordered.Add(1)
		return
	}
	*next = id + 1
}

// Reordered is how many messages came after a later one of their key.
func (k *Keys) Reordered() int64 { return k.reordered.Load() }
