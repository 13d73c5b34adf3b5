package mem

import "time"

// briskLook is how often a brisk member is looked at while others are idle.
const briskLook = time.Millisecond

// brisk is a member whose receiver is done with all that it takes before another that was woken would come. While there is
// one it may take all, and no other is woken: on one queue several receivers with handlers that do next to nothing are then
// as fast as one. Should it stop taking, a timer has the others woken. It is guarded by the queue's mutex.
type brisk struct {
	m     *member // nil: there is none
	takes uint64  // of all members
	seen  uint64  // takes when the timer was set
	timer *time.Timer
	armed bool
}

// came notes that a member comes for more.
func (b *brisk) came(m *member) {
	m.pace.End()
	if m.pace.Quick() {
		b.m = m
		b.takes++
	} else {
		b.left(m)
	}
}

// left notes that a member takes nothing for now.
func (b *brisk) left(m *member) {
	if b.m == m {
		b.m = nil
	}
}

// holdsOff reports whether nobody is to be woken, because of a brisk member. The caller holds the lock.
func (q *queue) holdsOff() bool {
	b := &q.brisk
	if b.m == nil {
		return false
	}
	if !b.armed {
		q.armBrisk()
	}
	return true
}

func (q *queue) armBrisk() {
	b := &q.brisk
	b.armed, b.seen = true, b.takes
	b.timer = setTimer(b.timer, briskLook, q.lookBrisk)
}

// lookBrisk ends the brisk time of a member that takes nothing while others could.
func (q *queue) lookBrisk() {
	q.mu.Lock()
	defer q.unlock()
	b := &q.brisk
	b.armed = false
	switch {
	case q.over != nil || b.m == nil || len(q.idle) == 0 || !q.anybodys() && b.m.held == 0:
	case b.takes != b.seen:
		q.armBrisk()
	default:
		b.m.pace.Slow()
		b.m = nil
		if !q.anybodys() {
			q.armShare() // what is in hand may be untouched
		}
	}
}

func (b *brisk) end() {
	b.m = nil
	if b.timer != nil {
		b.timer.Stop()
	}
}
