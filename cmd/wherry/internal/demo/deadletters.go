package demo

import (
	"cmp"
	"context"
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

// A loss of hope is counted by what tells it apart: the line it came from, where there is one, else the group, and the
// reason in both cases.
type deadKey struct {
	line   int
	group  string // empty where there is a line
	reason wherry.Reason
	text   string
}

// deadReason is dead letters of one kind.
type deadReason struct {
	Line    int      // of the input; 0 for an order that was made up
	Groups  []string // sorted
	Reason  wherry.Reason
	Text    string // the last error
	Count   int
	Example string // the id of the first
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
	d.count(line, m.ID(), &dead.DeadLetterInfo)
	return wherry.Ack()
}

func (d *deadLetters) count(line int, id string, info *wherry.DeadLetterInfo) {
	key := deadKey{line: line, reason: info.Reason, text: info.LastError}
	if line == 0 {
		key.group = info.Group
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.reasons[key]
	if r == nil {
		if len(d.reasons) >= maxReasons {
			d.others++
			return
		}
		r = &deadReason{Line: line, Reason: info.Reason, Text: info.LastError, Example: id}
		d.reasons[key] = r
	}
	r.Count++
	if i, ok := slices.BinarySearch(r.Groups, info.Group); !ok {
		r.Groups = slices.Insert(r.Groups, i, info.Group)
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
