package wherry

import (
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// A suspect is a message that was delivered often without an outcome: either it kills its process, or it was in the hands
// of one that another message killed. A worker that receives one gives back whatever else it took and handles it alone, so
// that a process which dies then dies with the guilty one in hand and no other. Only that one comes to MaxDelivered.
//
// The first Receive of a worker brings one message for the same reason, where messages outlive the process: what is only
// received is counted too, and should not be where the first message kills the process each time that it starts.

// suspectedAfter is the number of deliveries after which a message is a suspect.
func (c *consumeSpec) suspectedAfter() int { return max(c.maxDelivered/2, 1) }

// firstSuspectLocked is the place of the first in the buffer, -1 where there is none. What is refused without a handler call
// harms nobody.
func (w *worker) firstSuspectLocked() int {
	least, most := w.r.c.spec.suspectedAfter(), w.r.c.spec.maxDelivered
	for i, d := range w.buf[w.head:] {
		if n := d.Delivered; n > least && n <= most {
			return w.head + i
		}
	}
	return -1
}

// inspectLocked looks for suspects in the buffer that was just received. Where there is one it alone stays, if no other
// worker has one, and after that each clean Receive may bring twice as many as the one before.
func (w *worker) inspectLocked() {
	first := w.firstSuspectLocked()
	switch {
	case first >= 0:
		w.window = 1
		w.isolateLocked(first)
	case w.started:
		w.window = twice(w.window, w.credit)
	default:
		w.window, w.first = w.credit, w.window < w.credit
	}
	w.started = true
}

// twice is 2n, and most where that is less. Either may be as large as there are numbers: that stands for no limit.
func twice(n, most int) int {
	if n > most/2 {
		return most
	}
	return 2 * n
}

// isolateLocked gives everything in the buffer but one back to the broker, and where another has to be handled before, that
// one too. It gives up the lock until the broker has answered, during which no lane takes the one.
func (w *worker) isolateLocked(suspect int) {
	one := w.buf[suspect]
	back := len(w.buf) - w.head
	if w.r.fleet.quarantine.enter(w) {
		w.buf[suspect] = w.buf[w.head]
		w.buf[w.head] = nil
		w.suspect = one
		back--
	}
	for _, d := range w.buf[w.head:] {
		if d != nil {
			w.settleLocked(driver.Settlement{Delivery: d})
		}
	}
	clear(w.buf[w.head:])
	w.buf = w.buf[:w.head]
	if w.suspect == one {
		w.buf = append(w.buf, one)
	}
	if back == 0 || w.done {
		return
	}
	w.isolating = true
	w.settleNowLocked(w.departLocked())
	w.isolating = false
	if w.r.listening() {
		w.tellLocked(&Released{Origin: w.r.origin, Count: back, Why: "one message may kill the process, and is handled alone"})
	}
}

// inspectLocked looks for suspects in what was received for a sequence, which cannot give the others back: where there is one the
// next messages are received one at a time, each when no handler has another, until one comes that is none. It reports whether
// what came is alone, and so since the worker began.
//
// Only such a message is given up for being delivered too often, and after several times as many deliveries: what waited for its
// key was counted by its broker too, in each tenure.
func (s *sequencer) inspectLocked() (alone bool) {
	w := s.w
	alone = len(w.buf) == 1 && w.window == 1 && (s.suspicious || !w.started)
	least := w.r.c.spec.suspectedAfter()
	s.suspicious = slices.ContainsFunc(w.buf, func(d *driver.Delivery) bool { return d.Delivered > least })
	switch {
	case s.suspicious:
		w.window = 1
	case w.started:
		w.window = twice(w.window, w.credit)
	default:
		w.window = w.credit
	}
	w.started = true
	return alone
}

// activeLocked reports whether a handler has a message, or is about to get one.
func (s *sequencer) activeLocked() bool {
	return s.first != nil || slices.ContainsFunc(s.w.lanes, func(l *lane) bool { return l.key != nil })
}

// keptDelivered is how many times MaxDelivered a message is delivered that may have waited for its key each time.
const keptDelivered = 5

// spares reports whether the lane handles a message that was delivered too often. Under [Block] nothing is given up but what was
// rejected.
func (l *lane) spares() bool {
	l.recall()
	if l.key == nil {
		return false
	}
	k := &l.key.Value
	return !k.alone || l.w.seq.spec.onFailure == Block || k.head.Delivered/keptDelivered <= l.spec.maxDelivered
}

// nextIsSuspectLocked reports whether the first of the buffer is to be handled alone.
func (w *worker) nextIsSuspectLocked() bool {
	return w.suspect != nil && w.head < len(w.buf) && w.buf[w.head] == w.suspect
}

// survivedLocked notes that a lane is done with what it had in hand.
func (w *worker) survivedLocked(l *lane) {
	if slices.Contains(l.heldLocked(), w.suspect) {
		w.unsuspectLocked(w.suspect)
	}
}

// unsuspectLocked notes that this worker has d no more. A suspect that left without a handler call killed nobody either.
func (w *worker) unsuspectLocked(d *driver.Delivery) {
	if d != nil && w.suspect == d {
		w.suspect = nil
		w.r.fleet.quarantine.leave(w)
	}
}
