package mem

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/pace"
)

// A member is a receiver's part in one queue. It is guarded by the queue's mutex.
type member struct {
	r      *receiver
	q      *queue
	place  uint64 // its index in the receiver
	tenure uint64
	hand   []*entry // what was taken and may not be settled; see holds
	held   int      // how many of hand are not settled
	tags   tags

	idle  bool // among those that wait
	woken bool // the wake of the queue is on its way here
	since uint64
	pace  pace.Pace
	gone  bool // the receiver closed
	// Where receivers own keys: strands are those of its keys of which it may take more, and most is how many deliveries of one
	// it may have.
	strands strandList
	most    int
	// ending is running while a revocation lets what is in hand be settled; nothing is taken meanwhile.
	ending *time.Timer
}

// arrive takes the member out of those that wait, however it came back.
func (m *member) arrive() {
	if m.woken {
		m.woken = false
		m.q.waking = false
	}
	if m.idle {
		m.idle = false
		if i := slices.Index(m.q.idle, m); i >= 0 {
			m.q.idle = slices.Delete(m.q.idle, i, i+1)
		}
	}
}

// take appends what the member may have now. When that is nothing, and it is to wait, it is among those that wait.
func (m *member) take(dst []*driver.Delivery, wait bool) ([]*driver.Delivery, error) {
	q := m.q
	q.lock()
	if m.idle || m.woken {
		m.arrive()
	}
	if q.over != nil || m.gone {
		err := q.over
		q.mu.Unlock()
		if m.gone || errors.Is(err, driver.ErrClosed) {
			return dst, m.r.over()
		}
		return dst, m.r.wiped()
	}
	if q.strands != nil {
		dst = m.takeOwn(dst, wait)
		q.unlock()
		return dst, nil
	}
	contended := len(q.members) > 1 // with one there is nobody else to wake, and no clock need be read
	if contended {
		q.brisk.came(m)
	}
	calm := q.b.calm.Load()
	if !calm && m.ending == nil {
		q.lossy()
	}
	n := m.share(cap(dst) - len(dst))
	if n == 0 {
		if wait && m.ending == nil {
			q.await(m)
		}
		q.unlock()
		return dst, nil
	}
	if calm {
		dst = m.give(dst, n)
	} else {
		dst = m.takeOdd(dst, n)
	}
	if contended {
		m.pace.Begin(n)
		if len(q.idle) > 0 && q.ready.n == 0 {
			q.holdsOff()
		}
	}
	m.lease(n)
	if q.room.first != nil {
		q.admit()
	}
	q.unlock()
	return dst, nil
}

// share is how many of the ready entries the member may take now: all, or its part while others wait for some.
func (m *member) share(space int) int {
	if m.ending != nil {
		return 0
	}
	q := m.q
	n := q.available()
	if q.brisk.m == m {
		return min(space, n)
	}
	others := len(q.idle)
	if q.waking {
		others++
	}
	return min(space, (n+others)/(others+1))
}

// part ends the membership and gives back what is in hand.
func (m *member) part() {
	q := m.q
	q.mu.Lock()
	m.arrive()
	m.gone = true
	m.stopEnding()
	if i := slices.Index(q.members, m); i >= 0 {
		q.members = slices.Delete(q.members, i, i+1)
	}
	if q.over == nil {
		m.giveBack()
	}
	q.unlock()
}

// giveBack ends the tenure of all that is in hand, which becomes ready again as a whole, in publish order.
func (m *member) giveBack() {
	entries := m.abandon()
	slices.SortFunc(entries, bySeq)
	if m.q.b.cfg.Weak.RequeueInNackOrder || m.q.strands != nil { // strands keep the order, and the last is put first at once
		slices.Reverse(entries)
	}
	for _, e := range entries {
		m.q.requeue(e)
	}
}

// bySeq sorts entries by publish order.
func bySeq(a, b *entry) int { return cmp.Compare(a.seq, b.seq) }

// await puts the member among those that wait, and has the others asked to share when they hold something.
func (q *queue) await(m *member) {
	q.brisk.left(m)
	m.idle = true
	q.share.idles++
	m.since = q.share.idles
	q.idle = append(q.idle, m)
	if q.inFlight > m.held {
		q.armShare()
	}
}
