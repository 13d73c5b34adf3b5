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

// spare returns an entry to be filled. The caller holds the lock.
func (q *queue) spare() *entry {
	if n := len(q.free) - 1; n >= 0 {
		e := q.free[n]
		q.free = q.free[:n]
		return e
	}
	return q.spareLarge()
}

// spareLarge returns an entry with buffers that are counted, or a new one.
func (q *queue) spareLarge() *entry {
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
	if n := len(q.free); e.plain && cap(e.delivery.Body) <= small && n < cap(q.free) {
		q.free = q.free[:n+1]
		q.free[n] = e
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
	list := &q.free
	if e.kept > 0 {
		list = &q.freeLarge
	}
	if len(*list) < maxFree {
		*list = append(*list, e)
	} else {
		q.freeBytes -= e.kept
	}
}

// strip takes from an entry what a free one must not keep.
func (q *queue) strip(e *entry) {
	d := &e.delivery
	body := d.Body[:0]
	if len(d.Key) > 0 || e.lent {
		body = nil
	}
	if e.lent {
		e.keyed, e.headers, e.lent = nil, nil, false
	}
	clear(e.headers)
	*d = driver.Delivery{Body: body, Token: d.Token}
	e.name()
	kept := 0
	if cap(body) > small || cap(e.keyed)+cap(e.headers) > 0 {
		kept = e.buffers()
	}
	if kept > maxKept || q.freeBytes+kept > maxFreeBytes {
		d.Body, e.keyed, e.headers, kept = nil, nil, nil, 0
	}
	q.freeBytes += kept
	e.kept, e.plain = kept, cap(e.keyed)+cap(e.headers) == 0
}
