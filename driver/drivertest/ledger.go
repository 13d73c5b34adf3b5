package drivertest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Ledger is the account of a run: every id that was sent, seen and settled, by consumer. A consumer is whatever should
// get each message once: all receivers of a queue together, or the members of one group together. The zero Ledger is
// ready for use, by any number of goroutines.
type Ledger struct {
	mu        sync.Mutex // guards the fields below
	index     map[string]int
	entries   []entry
	nextOfKey map[string]int // the publish position that the next record of a key gets
	consumers map[string]*tally
}

// An entry is one id. It exists from when the id is first heard of, which may be before its send returned.
type entry struct {
	id       string
	key      string
	position int // of its key, from 1; 0 until Sending
	fate     fate
}

// A tally is what one consumer did with each entry, and how far it has come with each key.
type tally struct {
	marks       []mark
	lastSeen    map[string]int
	lastSettled map[string]int
	redelivered []string
	duplicated  []string
	reordered   []string
	settled     int
}

type mark struct{ seen, settled bool }

// Sending notes that a record is about to be sent. The order of these calls is the publish order of its key; an empty
// key has no order.
func (l *Ledger) Sending(id, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entry(id)
	e.fate, e.key = unknown, key
	if key != "" {
		l.nextOfKey[key]++
		e.position = l.nextOfKey[key]
	}
}

// Sent notes what the send of the record returned: nil is that it is at the broker. An error that matches neither
// driver.ErrUnconfirmed nor any that says it was not sent leaves it open.
func (l *Ledger) Sent(id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := fateOf(err)
	if f == bare {
		f = unknown
	}
	l.entry(id).fate = f
}

// Seen notes that the consumer received the message.
func (l *Ledger) Seen(consumer, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, t := l.entry(id), l.tally(consumer)
	m := t.mark(l.index[id])
	switch {
	case m.settled:
		t.duplicated = append(t.duplicated, id)
	case m.seen:
		t.redelivered = append(t.redelivered, id)
	default:
		t.inOrder(t.lastSeen, e)
	}
	m.seen = true
}

// Settled notes that the consumer's settlement of the message as done returned nil.
func (l *Ledger) Settled(consumer, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settle(consumer, id) {
		l.tally(consumer).inOrder(l.tally(consumer).lastSettled, l.entry(id))
	}
}

// settledLate is Settled where several share the consumer: once a settlement was applied another may receive, and settle, what
// comes next of the key, before this one is told. The order is seen in what was received.
func (l *Ledger) settledLate(consumer, id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(consumer, id)
}

// settle marks an entry as settled, and reports whether it was not.
func (l *Ledger) settle(consumer, id string) bool {
	l.entry(id)
	t := l.tally(consumer)
	m := t.mark(l.index[id])
	if m.settled {
		return false
	}
	m.settled = true
	t.settled++
	return true
}

// Outstanding is the number of records that are confirmed and not yet settled by the consumer.
func (l *Ledger) Outstanding(consumer string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tally(consumer)
	n := 0
	for i := range l.entries {
		if l.entries[i].fate == arrived && !t.mark(i).settled {
			n++
		}
	}
	return n
}

// Report is the account of one consumer.
func (l *Ledger) Report(consumer string) Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.tally(consumer)
	r := Report{
		Settled: t.settled, Duplicated: slices.Clone(t.duplicated), Redelivered: slices.Clone(t.redelivered),
		Reordered: slices.Clone(t.reordered),
	}
	for i := range l.entries {
		e, m := &l.entries[i], *t.mark(i)
		if e.fate == arrived {
			r.Sent++
			if !m.settled {
				r.Lost = append(r.Lost, e.id)
			}
		}
		if m.seen {
			r.Seen++
			if e.fate == stayed || e.fate == bare {
				r.Strange = append(r.Strange, e.id)
			}
		}
	}
	return r
}

// entry returns the entry of id, which is valid until the next call. A new one was never sent.
func (l *Ledger) entry(id string) *entry {
	if l.index == nil {
		l.index, l.nextOfKey, l.consumers = map[string]int{}, map[string]int{}, map[string]*tally{}
	}
	i, ok := l.index[id]
	if !ok {
		id = strings.Clone(id)
		i = len(l.entries)
		l.index[id] = i
		l.entries = append(l.entries, entry{id: id, fate: bare})
	}
	return &l.entries[i]
}

func (l *Ledger) tally(consumer string) *tally {
	t := l.consumers[consumer]
	if t == nil {
		t = &tally{lastSeen: map[string]int{}, lastSettled: map[string]int{}}
		if l.consumers == nil {
			l.index, l.nextOfKey, l.consumers = map[string]int{}, map[string]int{}, map[string]*tally{}
		}
		l.consumers[consumer] = t
	}
	return t
}

func (t *tally) mark(i int) *mark {
	if n := i + 1 - len(t.marks); n > 0 {
		t.marks = append(t.marks, make([]mark, n)...)
	}
	return &t.marks[i]
}

// inOrder notes e as the last of its key, or as one that comes after a later one of its key.
func (t *tally) inOrder(last map[string]int, e *entry) {
	switch {
	case e.position == 0:
	case e.position < last[e.key]:
		if !slices.Contains(t.reordered, e.id) {
			t.reordered = append(t.reordered, e.id)
		}
	default:
		last[e.key] = e.position
	}
}

// A Report is what became of the messages of a run at one consumer.
type Report struct {
	Sent    int // confirmed sends
	Seen    int // different messages received
	Settled int // different messages settled

	Lost        []string // confirmed and never settled
	Duplicated  []string // received again after they were settled, once for each time
	Redelivered []string // received again before they were settled, once for each time
	Reordered   []string // received or settled after a later one of their key
	Strange     []string // received though never sent, or though the send said that they were not
}

// String gives the counts, and the first ids of each kind of fault.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d sent, %d seen, %d settled", r.Sent, r.Seen, r.Settled)
	for _, f := range []struct {
		what string
		ids  []string
	}{
		{"lost", r.Lost},
		{"duplicated", r.Duplicated},
		{"redelivered", r.Redelivered},
		{"reordered", r.Reordered},
		{"strange", r.Strange},
	} {
		if len(f.ids) > 0 {
			const most = 5
			fmt.Fprintf(&b, "; %d %s, as %q", len(f.ids), f.what, f.ids[:min(most, len(f.ids))])
		}
	}
	return b.String()
}

// Clean reports whether nothing was lost, duplicated, redelivered, reordered or strange.
func (r Report) Clean() bool {
	return len(r.Lost)+len(r.Duplicated)+len(r.Redelivered)+len(r.Reordered)+len(r.Strange) == 0
}
