package ledger

import (
	"time"

	"github.com/wherryhq/wherry/bench/document"
)

// Windows add up to one run, of one process. They are made by [NewWindows], and used by one goroutine.
type Windows struct {
	least int64
	cold  bool
	sum   document.Run
}

// NewWindows returns windows that take so long together at least, or one window, however long it is, where least is 0. Where the
// process is cold the first is not timed: in it the process takes the memory that it needs, and what that costs is the system's
// affair. Its messages are judged with all others.
func NewWindows(least time.Duration, cold bool) *Windows {
	return &Windows{least: int64(least), cold: cold}
}

// Add adds a window that is over, and reports whether it is timed.
func (w *Windows) Add(r *document.Run) bool {
	l, to := &r.Ledger, &w.sum.Ledger
	to.Published += l.Published
	to.Handled += l.Handled
	to.Lost += l.Lost
	to.Duplicated += l.Duplicated
	to.Reordered += l.Reordered
	to.Ordered = l.Ordered
	w.sum.PeakRSS = max(w.sum.PeakRSS, r.PeakRSS)
	if w.cold {
		w.cold = false
		return false
	}
	w.sum.Windows++
	w.sum.Messages += r.Messages
	w.sum.ElapsedNS += r.ElapsedNS
	w.sum.CPUNS += r.CPUNS
	return true
}

// More reports whether the run needs another window.
func (w *Windows) More() bool { return w.sum.Windows == 0 || w.sum.ElapsedNS < w.least }

// Run is the run that the windows make.
func (w *Windows) Run() *document.Run { return &w.sum }
