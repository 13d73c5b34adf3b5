package mem

import "github.com/wherryhq/wherry/internal/keytable"

// A strand is what a queue has of one key: what is ready, in publish order, and who owns it. There is one for as long as
// anything of the key is ready, in hand, or released with a delay. It is guarded by the queue's mutex.
//
//	                 taken                    all settled
//	nobody's, ready ───────► its owner's list ────────────► nobody's, or forgotten
//	      ▲                        │
//	      └────────────────────────┘ the owner's tenure ended
type strand struct {
	node       *keytable.Node[strand] // which it is the value of
	in         *strandList            // the list that it is in; nil while nothing of it may be taken
	prev, next *strand

	first, last *entry  // what is ready, linked by entry.after
	owner       *member // who has some of it in hand; nil exactly when inHand is 0
	inHand      int
	held        int // released with a delay and not due: what came later waits for it
}

// insert puts an entry at its place in the publish order.
func (k *strand) insert(e *entry) {
	if k.last == nil || k.last.seq <= e.seq {
		k.append(e)
		return
	}
	at := &k.first
	for (*at).seq <= e.seq {
		at = &(*at).after
	}
	e.after, *at = *at, e
}

func (k *strand) append(e *entry) {
	if k.last == nil {
		k.first = e
	} else {
		k.last.after = e
	}
	k.last = e
}

// prepend puts an entry before all others, whatever its place is.
func (k *strand) prepend(e *entry) {
	e.after, k.first = k.first, e
	if k.last == nil {
		k.last = e
	}
}

// pop takes the first entry out; there is one.
func (k *strand) pop() *entry {
	e := k.first
	k.first, e.after = e.after, nil
	if k.first == nil {
		k.last = nil
	}
	return e
}

// remove takes an entry out, and reports whether it was there.
func (k *strand) remove(e *entry) bool {
	var before *entry
	for at := k.first; at != e; at = at.after {
		if at == nil {
			return false
		}
		before = at
	}
	if before == nil {
		k.pop()
		return true
	}
	before.after, e.after = e.after, nil
	if k.last == e {
		k.last = before
	}
	return true
}

// A strandList has strands of which something may be taken. The zero list is empty.
type strandList struct {
	first, last *strand
	n           int
}

// push puts a strand that is in no list at the end.
func (l *strandList) push(k *strand) {
	k.in, k.prev = l, l.last
	if l.last == nil {
		l.first = k
	} else {
		l.last.next = k
	}
	l.last = k
	l.n++
}

func (l *strandList) remove(k *strand) {
	if k.prev == nil {
		l.first = k.next
	} else {
		k.prev.next = k.next
	}
	if k.next == nil {
		l.last = k.prev
	} else {
		k.next.prev = k.prev
	}
	k.in, k.prev, k.next = nil, nil, nil
	l.n--
}
