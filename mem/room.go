package mem

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// A waitlist lets senders into a full queue in the order in which they came. It is guarded by the queue's mutex.
type waitlist struct {
	first, last *blocked
	spare       []*blocked // to be used again, since a producer that is faster than its consumers blocks all the time
	// grantedBytes are set aside for those that were let in and have not come yet; how many those are is part of
	// queue.beside.
	grantedBytes int
}

// A blocked send waits for room in one queue, for one record, or for all that a transaction sends there.
type blocked struct {
	q    *queue
	s    *sender
	size int
	// count is the number of records: more than one for a transaction, which comes in as a whole.
	count int
	wake  chan struct{} // holds one value

	prev, next *blocked
	in         bool  // let in: room is set aside
	err        error // why it waits no longer, when it was not let in
}

const maxSpareBlocked = 64

// block puts a send at the end of the list. The caller holds the lock.
func (q *queue) block(s *sender, size int) *blocked {
	l := &q.room
	var w *blocked
	if n := len(l.spare); n > 0 {
		w = l.spare[n-1]
		l.spare = l.spare[:n-1]
	} else {
		w = &blocked{q: q, wake: make(chan struct{}, 1)}
	}
	w.s, w.size, w.count, w.in, w.err = s, size, 1, false, nil
	w.prev = l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
	return w
}

func (l *waitlist) remove(w *blocked) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
}

// admit lets in as many senders as there is room for. The caller holds the lock, and calls it whenever room appeared.
func (q *queue) admit() {
	l := &q.room
	most := q.b.cfg.bound(driver.Main)
	for l.first != nil && q.fitsAll(l.first.count, l.first.size, most, true) {
		w := l.first
		l.remove(w)
		q.beside += w.count
		l.grantedBytes += w.size
		w.in = true
		w.wake <- struct{}{}
	}
}

// claim gives back the room that was set aside for w, whose sender takes it under the same lock or leaves it.
func (q *queue) claim(w *blocked) {
	q.beside -= w.count
	q.room.grantedBytes -= w.size
	q.room.keep(w)
}

func (l *waitlist) keep(w *blocked) {
	w.s = nil
	if len(l.spare) < maxSpareBlocked {
		l.spare = append(l.spare, w)
	}
}

// evict ends the waiting of w for the reason err.
func (l *waitlist) evict(w *blocked, err error) {
	l.remove(w)
	w.err = err
	w.wake <- struct{}{}
}

func (l *waitlist) end(err error) {
	for l.first != nil {
		l.evict(l.first, err)
	}
}

// wait returns nil once w was let in, and an error when ctx ended, which names the queue that has no room, or the sender or the
// queue did.
func (w *blocked) wait(ctx context.Context) error {
	select {
	case <-w.wake:
		// What was written before the wake is seen after it.
		if w.in {
			return nil
		}
		return w.err
	case <-ctx.Done():
	}
	q := w.q
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.in || w.err != nil {
		<-w.wake
		if w.in {
			return nil
		}
		return w.err
	}
	q.room.remove(w)
	q.room.keep(w)
	q.admit() // the next may be smaller
	return fmt.Errorf("queue %q is full: %w", q.name(), context.Cause(ctx))
}

// evictAll wakes what waits for the sender s.
func (q *queue) evictAll(s *sender, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for w := q.room.first; w != nil; {
		next := w.next
		if w.s == s {
			q.room.evict(w, err)
		}
		w = next
	}
	q.admit()
}
