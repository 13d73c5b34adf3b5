package mem

import "github.com/wherryhq/wherry/driver"

const (
	// small buffers of free entries are not counted.
	small = 1 << 10
	// maxKept is the largest buffer that a free entry keeps.
	maxKept = 64 << 10
	// maxFree and maxFreeBytes bound a queue's free entries and their buffers that are not small.
	maxFree      = 16 << 10
	maxFreeBytes = 4 << 20
)

// spare returns an entry to be filled. The caller holds the lock.
func (q *queue) spare() *entry {
	n := len(q.free) - 1
	if n < 0 {
		return newEntry(q)
	}
	e := q.free[n]
	q.free = q.free[:n]
	q.freeBytes -= e.kept
	e.kept = 0
	return e
}

// recycle takes back an entry whose record is done. The caller holds the lock.
func (q *queue) recycle(e *entry) {
	e.state = spare
	e.life++
	if !e.plain || e.lent || q.poison || cap(e.buf) > small || len(q.free) == cap(q.free) {
		q.recycleOdd(e)
		return
	}
	q.free = append(q.free, e)
}

// recycleOdd is recycle for every entry.
func (q *queue) recycleOdd(e *entry) {
	if q.poison {
		e.spoil()
		return
	}
	if !e.plain || e.lent || cap(e.buf) > small {
		q.strip(e)
	}
	if len(q.free) < maxFree {
		q.free = append(q.free, e)
	}
}

// strip takes from an entry what a free one must not keep.
func (q *queue) strip(e *entry) {
	if e.lent {
		e.buf, e.headers, e.lent = nil, nil, false
	}
	clear(e.headers)
	kept := 0
	if cap(e.buf) > small || cap(e.headers) > 0 {
		kept = e.buffers()
	}
	if kept > maxKept || q.freeBytes+kept > maxFreeBytes {
		e.buf, e.headers, kept = nil, nil, 0
	}
	q.freeBytes += kept
	e.kept = kept
	token := e.delivery.Token
	e.delivery = driver.Delivery{Topic: q.topic, Token: token}
	e.plain = cap(e.headers) == 0
}
