package mem

import "github.com/wherryhq/wherry/driver"

const (
	// small buffers of free entries are not counted.
	small = 1 << 10
	// maxKept is the largest buffer that a free entry keeps.
	maxKept = 64 << 10
	// maxFree bounds each list of a queue's free entries, and maxFreeBytes their buffers that are counted.
	maxFree      = 16 << 10
	maxFreeBytes = 4 << 20
)

// spare returns an entry to be filled with a record of a size: one whose buffer is as large if there is one. The caller holds
// the lock.
func (q *queue) spare(size int) *entry {
	if q.free.n > 0 && (size <= small || len(q.freeLarge) == 0) {
		return q.free.pop()
	}
	return q.spareOdd()
}

// spareOdd returns an entry with buffers that are counted, or a new one.
func (q *queue) spareOdd() *entry {
	n := len(q.freeLarge) - 1
	if n < 0 {
		return newEntry(q)
	}
	e := q.freeLarge[n]
	q.freeLarge = q.freeLarge[:n]
	q.freeBytes -= e.kept
	e.kept = 0
	return e
}

// recycle takes back an entry whose record is done. The caller holds the lock.
func (q *queue) recycle(e *entry) {
	e.state = spare
	e.life++
	if e.plain && cap(e.delivery.Body) <= small && q.free.n < len(q.free.buf) {
		q.free.push(e)
	} else {
		q.recycleOdd(e)
	}
}

// recycleOdd is the part of recycle that every entry may need.
func (q *queue) recycleOdd(e *entry) {
	if q.poison {
		e.spoil()
		return
	}
	if !e.plain || cap(e.delivery.Body) > small {
		q.strip(e)
	}
	switch {
	case e.kept == 0 && q.free.n < maxFree:
		q.free.push(e)
	case e.kept > 0 && len(q.freeLarge) < maxFree:
		q.freeLarge = append(q.freeLarge, e)
	default:
		q.freeBytes -= e.kept
	}
}

// strip takes from an entry what a free one must not keep.
func (q *queue) strip(e *entry) {
	d := &e.delivery
	body := d.Body[:0]
	if e.lent {
		body, e.key, e.headers, e.lent = nil, nil, nil, false
	}
	clear(e.headers)
	*d = driver.Delivery{Body: body, Token: d.Token}
	e.name()
	kept := 0
	if cap(body) > small || cap(e.key) > shortKey || cap(e.headers) > 0 {
		kept = e.buffers()
	}
	if kept > maxKept || q.freeBytes+kept > maxFreeBytes {
		d.Body, e.key, e.headers, kept = nil, nil, nil, 0
	}
	q.freeBytes += kept
	e.kept, e.plain = kept, cap(e.key) <= shortKey && cap(e.headers) == 0
}
