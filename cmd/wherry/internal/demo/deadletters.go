package demo

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/cmd/wherry/internal/ledger"
)

// lineHeader is the header with the number of the input's line that a message comes from.
const lineHeader = "line-number"

// maxReasons bounds how many different dead letters are told apart.
const maxReasons = 200

// deadKey is what tells dead letters apart: the line that they came from, where there is one, else the group, and in both
// cases why they are there.
type deadKey struct {
	line   int
	group  string // empty where there is a line
	reason wherry.Reason
	text   string
}

// deadReason is dead letters of one kind.
type deadReason struct {
	Line   int      // of the input; 0 for an order that was made up
	Groups []string // sorted
	Reason wherry.Reason
	Text   string // the last error
	Count  int
}

// deadLetters is what the dead-letter topic brought. It is made by newDeadLetters.
type deadLetters struct {
	ledger *ledger.Ledger

	mu      sync.Mutex // guards the fields below
	reasons map[deadKey]*deadReason
	others  int // those beyond maxReasons
}

func newDeadLetters(l *ledger.Ledger) *deadLetters {
	return &deadLetters{ledger: l, reasons: make(map[deadKey]*deadReason)}
}

// add is the handler of dead letters.
func (d *deadLetters) add(_ context.Context, m *wherry.Message[wherry.DeadLetter[Order]]) wherry.Outcome {
	dead := &m.Value
	d.ledger.Dead(m.ID(), dead.Group)
	line, err := strconv.Atoi(m.Headers().Get(lineHeader))
	if err != nil {
		line = 0
	}
	text := dead.LastError
	if e, ok := errors.AsType[*wherry.DecodeError](dead.Err); ok {
		text = e.Err.Error() // without the size and the type
	}
	d.count(deadKey{line, dead.Group, dead.Reason, text})
	return wherry.Ack()
}

func (d *deadLetters) count(key deadKey) {
	group := key.group
	if key.line > 0 {
		key.group = ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.reasons[key]
	if r == nil {
		if len(d.reasons) >= maxReasons {
			d.others++
			return
		}
		r = &deadReason{Line: key.line, Reason: key.reason, Text: key.text}
		d.reasons[key] = r
	}
	r.Count++
	if i, ok := slices.BinarySearch(r.Groups, group); !ok {
		r.Groups = slices.Insert(r.Groups, i, group)
	}
}

// list returns all kinds in an order that does not change as they grow, and how many dead letters are of none of them.
func (d *deadLetters) list() (reasons []deadReason, others int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.reasons {
		one := *r
		one.Groups = slices.Clone(r.Groups)
		reasons = append(reasons, one)
	}
	slices.SortFunc(reasons, func(a, b deadReason) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line), slices.Compare(a.Groups, b.Groups), cmp.Compare(a.Reason, b.Reason),
			cmp.Compare(a.Text, b.Text),
		)
	})
	return reasons, d.others
}
