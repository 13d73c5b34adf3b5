// Package ledger accounts for messages by their ids: which were published, and what each group made of them. It knows
// nothing of an engine or a broker and is told by those who publish and handle, so that what was lost on the way is
// missing from it, and what came twice is in it twice.
package ledger

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// prefix begins every id. A number follows.
const prefix = "order-"

// A Ledger has an account for each message, with an entry for each group. It is made by [New]; all methods may be called
// concurrently. It keeps every account, in a few bytes: about 10 for a message that goes to three groups.
type Ledger struct {
	groups []string

	mu      sync.Mutex // guards the fields below
	states  []state    // of message 1, 2, …
	entries []entry    // as many as there are groups for each message
	totals  Totals
}

// state is what became of a message's publish.
type state uint8

const (
	offered state = iota // its publish has not returned
	published
	withdrawn
)

// entry is what one group made of a message.
type entry struct {
	handled uint8
	dead    uint8
	retried bool
}

// ended is how often the group was done with the message; once is right.
func (e entry) ended() int { return int(e.handled) + int(e.dead) }

// New returns an empty ledger for messages each of which goes to every one of groups.
func New(groups ...string) *Ledger {
	l := &Ledger{groups: slices.Clone(groups)}
	for _, g := range groups {
		l.totals.Groups = append(l.totals.Groups, GroupTotals{Group: g})
	}
	return l
}

// Next opens an account and returns its id. It comes before the publish, since a message may be handled before its publish
// has returned.
func (l *Ledger) Next() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.states = append(l.states, offered)
	for range l.groups {
		l.entries = append(l.entries, entry{})
	}
	return id(len(l.states))
}

// Published notes that the broker has the message.
func (l *Ledger) Published(id string) {
	l.write(id, func(s *state, _ []entry) { *s = published })
}

// Withdrawn notes that publishing the message failed. It counts as published if a group sees it all the same.
func (l *Ledger) Withdrawn(id string) {
	l.write(id, func(s *state, _ []entry) { *s = withdrawn })
}

// Retried notes that the group tries the message again.
func (l *Ledger) Retried(id, group string) {
	l.enter(id, group, func(e *entry) { e.retried = true })
}

// Handled notes that the group is done with the message.
func (l *Ledger) Handled(id, group string) {
	l.enter(id, group, func(e *entry) { raise(&e.handled) })
}

// Dead notes that the message, which the group gave up, is in the dead letters.
func (l *Ledger) Dead(id, group string) {
	l.enter(id, group, func(e *entry) { raise(&e.dead) })
}

func raise(n *uint8) {
	if *n < math.MaxUint8 {
		*n++
	}
}

// enter changes the entry of one group.
func (l *Ledger) enter(id, group string, change func(*entry)) {
	i := slices.Index(l.groups, group)
	l.write(id, func(_ *state, es []entry) {
		if i < 0 {
			l.totals.Unknown++
			return
		}
		change(&es[i])
	})
}

// write changes an account and the totals with it.
func (l *Ledger) write(id string, change func(*state, []entry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, ok := number(id)
	if !ok || n > len(l.states) {
		l.totals.Unknown++
		return
	}
	s, es := l.account(n)
	l.totals.count(*s, es, -1)
	change(s, es)
	l.totals.count(*s, es, +1)
}

// account is that of the n-th message.
func (l *Ledger) account(n int) (*state, []entry) {
	k := len(l.groups)
	return &l.states[n-1], l.entries[(n-1)*k : n*k]
}

func id(n int) string { return prefix + strconv.Itoa(n) }

// number reads an id that Next returned.
func number(id string) (n int, ok bool) {
	digits, ok := strings.CutPrefix(id, prefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0
}

// Totals returns the sums of all accounts as they stand.
func (l *Ledger) Totals() Totals {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.totals
	t.Groups = slices.Clone(t.Groups)
	return t
}

// Open returns up to limit accounts that are open, in the order they were opened. Once nothing is on its way any more,
// those are the messages that were lost.
func (l *Ledger) Open(limit int) []Account {
	return l.find(limit, func(s state, es []entry) []string {
		return l.groupsWith(es, func(e entry) bool { return seen(s, es) && e.ended() == 0 })
	})
}

// Duplicated returns up to limit accounts of messages that a group was done with more than once.
func (l *Ledger) Duplicated(limit int) []Account {
	return l.find(limit, func(_ state, es []entry) []string {
		return l.groupsWith(es, func(e entry) bool { return e.ended() > 1 })
	})
}

// An Account names a message, and the groups that it was asked for.
type Account struct {
	ID     string
	Groups []string
}

func (l *Ledger) find(limit int, which func(state, []entry) []string) []Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []Account
	for n := 1; n <= len(l.states) && len(found) < limit; n++ {
		s, es := l.account(n)
		if groups := which(*s, es); len(groups) > 0 {
			found = append(found, Account{ID: id(n), Groups: groups})
		}
	}
	return found
}

func (l *Ledger) groupsWith(es []entry, is func(entry) bool) []string {
	var groups []string
	for i, e := range es {
		if is(e) {
			groups = append(groups, l.groups[i])
		}
	}
	return groups
}
