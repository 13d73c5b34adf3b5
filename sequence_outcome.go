package wherry

import (
	"time"

	"github.com/wherryhq/wherry/driver"
)

// shownOf is the delivery as the lane's handler sees it: with the attempts that were made in memory.
func (l *lane) shownOf(d *driver.Delivery) *driver.Delivery {
	if l.key != nil && l.key.Value.shown != nil {
		return l.key.Value.shown
	}
	return d
}

// conclude is what the lane's next call settles: nothing, where the delivery is kept or moves. d is as its handler saw it.
func (s *sequencer) conclude(l *lane, d *driver.Delivery, o Outcome) driver.Settlement {
	switch {
	case o.kind == KindAck:
		return driver.Settlement{Delivery: d, Verdict: driver.Done}
	case s.w.lost(l, d):
		return driver.Settlement{Delivery: d} // it is another's
	case o.kind == KindReject:
		return s.giveUp(l, d, reasonOf(o.err), o.err, attemptOf(d))
	case o.kind == KindDefer:
		return s.putOff(l, d, o)
	case o.kind == kindHop:
		return s.hop(l, d)
	default:
		return s.tryAgain(l, d, o)
	}
}

// tryAgain lets the key wait for the next attempt.
func (s *sequencer) tryAgain(l *lane, d *driver.Delivery, o Outcome) driver.Settlement {
	w := s.w
	if w.r.draining.Load() {
		s.keep(l, l.key.Value.shown, 0, o.err, nil) // that it failed says nothing about the message
		return driver.Settlement{}
	}
	attempt := attemptOf(d)
	policy := w.r.c.spec.retry.forError(o.err)
	if attempt >= policy.MaxAttempts && (!s.ordered || s.spec.onFailure != Block) {
		return s.giveUp(l, d, ReasonExhausted, o.err, attempt)
	}
	delay := o.delay
	if !o.exact {
		delay = policy.jittered(policy.delay(min(attempt, max(policy.MaxAttempts-1, 1))))
	}
	now := time.Now()
	shown := *d
	shown.Control.Attempt = attempt + 1
	if !isDeadLetter(d) {
		shown.Control.Failure = w.failure(d, o.err, attempt, now)
	}
	var e Event
	if w.r.listening() {
		e = &Retried{Origin: w.r.origin, ID: d.ID.String(), Attempt: attempt, Delay: delay, Err: o.err}
	}
	s.keep(l, &shown, s.w.r.clock.of(now).Add(delay), o.err, e)
	return driver.Settlement{}
}

// putOff is a defer, during which the key waits.
func (s *sequencer) putOff(l *lane, d *driver.Delivery, o Outcome) driver.Settlement {
	delay := max(o.delay, minDefer)
	if delay > maxDeferred-d.Control.Deferred {
		return s.giveUp(l, d, ReasonDeferred, o.err, attemptOf(d)-1)
	}
	shown := *d
	shown.Control.Defers++
	shown.Control.Deferred += delay
	var e Event
	if s.w.r.listening() {
		e = &Deferred{Origin: s.w.r.origin, ID: d.ID.String(), Delay: delay}
	}
	s.keep(l, &shown, s.w.r.clock.of(time.Now()).Add(delay), nil, e)
	return driver.Settlement{}
}

// hop is for a message that came before it was due. In a sequence it goes back to wait elsewhere: its place in the order of its
// key is that of when it is due. A broadcast has no elsewhere.
func (s *sequencer) hop(l *lane, d *driver.Delivery) driver.Settlement {
	due := d.Control.Hold.Due
	if !s.ordered {
		shown := *d
		shown.Control.Hold = nil
		s.keep(l, &shown, s.w.r.clock.until(due), nil, nil)
		return driver.Settlement{}
	}
	rec := recordOf(d)
	rec.Due, rec.Control.Hold = due, nil
	s.handOver(l, &move{rec: rec, out: s.w.r.retries})
	return driver.Settlement{}
}

// giveUp sends the first of a key to the dead letters, and sets its key aside where the policy asks for that.
func (s *sequencer) giveUp(l *lane, d *driver.Delivery, why Reason, err error, calls int) driver.Settlement {
	settlement, m := s.w.giveUp(d, why, err, calls)
	if m == nil {
		return settlement // dropped
	}
	s.handOver(l, m)
	return driver.Settlement{}
}

// keep takes the delivery out of the lane's hands and lets its key wait. A delivery whose tenure ended, or that comes when nothing
// is handled any more, is left to the broker.
func (s *sequencer) keep(l *lane, shown *driver.Delivery, until driver.Stamp, err error, e Event) {
	n, ok := s.leave(l)
	if !ok {
		return
	}
	w := s.w
	k := &n.Value
	k.shown, k.err = shown, err
	switch {
	case k.lost:
		s.forgetHeadLocked(n)
		e = nil
	case w.stopped || until == 0:
		k.state = keyNew
		e = nil
	default:
		s.waitLocked(n, until)
	}
	w.mu.Unlock()
	if e != nil {
		w.r.emit(e)
	}
}

// handOver gives the delivery to a mover, and takes it out of the lane's hands in the same step. Its key goes on once it is moved.
func (s *sequencer) handOver(l *lane, m *move) {
	n, ok := s.leave(l)
	if !ok {
		return
	}
	if n.Value.lost {
		s.forgetHeadLocked(n)
	} else {
		if m.out == s.w.r.dead {
			s.noteAsideLocked(n)
		}
		s.moveLocked(n, m)
	}
	s.w.mu.Unlock()
}

// leave takes the key out of the lane's hands and locks. It is too late for that where the handler was abandoned.
func (s *sequencer) leave(l *lane) (n *seqNode, ok bool) {
	w := s.w
	w.mu.Lock()
	if w.late || w.done {
		w.mu.Unlock()
		w.tellTooLate(1)
		return nil, false
	}
	n, l.key = l.key, nil
	w.finishLocked(l)
	return n, true
}

func (s *sequencer) moveLocked(n *seqNode, m *move) {
	n.Value.state = keyMoving
	m.d, m.key = n.Value.head, n
	s.w.moverLocked(m.out).add(m)
}

// movedLocked goes on with a key whose first was moved, or is another's now.
func (s *sequencer) movedLocked(n *seqNode) { s.nextLocked(n) }

// endLocked is called with what the lane is about to settle of its key. What a loop released is first of its key again.
func (s *sequencer) endLocked(l *lane, done *driver.Settlement) {
	n := l.key
	l.key = nil
	done.Delivery = n.Value.head
	if done.Verdict == driver.Done || n.Value.lost {
		s.nextLocked(n)
		return
	}
	*done = driver.Settlement{}
	s.beginLocked(n)
}

// forgetHeadLocked forgets the first of a key whose tenure ended while it was in hand.
func (s *sequencer) forgetHeadLocked(n *seqNode) {
	d := n.Value.head
	s.forgetLocked(d)
	s.w.tenures.settledLocked(d.Tenure)
	s.nextLocked(n)
}

// forgetLocked gives up a delivery without a word to the broker.
func (s *sequencer) forgetLocked(d *driver.Delivery) {
	s.w.leases.removeLocked(d)
	s.w.forgetLocked(1)
}
