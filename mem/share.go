package mem

import "time"

// shareAfter is how long a receiver is idle before the others are asked to share.
const shareAfter = time.Millisecond

// sharing has the receivers that hold something asked to share it while another is idle. It is guarded by the queue's
// mutex. The timer is set when a receiver becomes idle, never again by itself: a receiver that was asked and shared
// nothing has nothing to share, and a bubble in which nothing moves stands still.
type sharing struct {
	timer *time.Timer
	armed bool
	idles uint64 // how often a receiver became idle
	upTo  uint64 // idles when the timer was set
}

// armShare sets the timer unless it is set. The caller holds the lock.
func (q *queue) armShare() {
	s := &q.share
	if s.armed {
		return
	}
	s.armed = true
	s.upTo = s.idles
	s.timer = setTimer(s.timer, shareAfter, q.wantAll)
}

// wantAll asks every member that holds something to share while another is idle.
func (q *queue) wantAll() {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := &q.share
	s.armed = false
	if q.over != nil || len(q.idle) == 0 || q.anybodys() {
		return
	}
	if q.idle[0].since > s.upTo {
		// Who was idle when the timer was set found work since, and somebody became idle meanwhile.
		if q.inFlight > 0 {
			q.armShare()
		}
		return
	}
	for _, m := range q.members {
		alone := len(q.idle) == 1 && q.idle[0] == m
		if m.held > 0 && !alone {
			m.r.want()
		}
	}
}

func (r *receiver) want() {
	select {
	case r.wanted <- struct{}{}:
	default:
	}
}

// Wanted carries a value when another receiver of one of the queues has been idle for a millisecond.
func (r *receiver) Wanted() <-chan struct{} { return r.wanted }

func (s *sharing) end() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
