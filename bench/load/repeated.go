package load

import (
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/matrix"
)

// repeated makes one run of as many windows as the order asks for. The process is warm in those that count: in the window
// before them it took the memory that it needs, and what that costs is the system's affair, not the engine's. That window does
// not count, but its messages are judged with all others. Where handlers take their time nobody would see the difference.
func repeated(o *Order, once func(first bool) Report) Report {
	var sum document.Run
	extra := document.Extra{}
	cold := o.Least > 0 && o.Spec.Handler == matrix.Zero
	for first := true; first || sum.ElapsedNS < int64(o.Least); first = false {
		r := once(first)
		if r.None != nil {
			return r
		}
		if o.Least > 0 && r.Run.ElapsedNS < 1 {
			return failed("a window took no time, so that no number of them is enough")
		}
		add(&sum.Ledger, r.Run.Ledger)
		if r.Extra != nil {
			extra.StopNS = max(extra.StopNS, r.Extra.StopNS)
		}
		if cold {
			cold = false
			continue
		}
		sum.Windows++
		sum.Messages += r.Run.Messages
		sum.ElapsedNS += r.Run.ElapsedNS
		sum.CPUNS += r.Run.CPUNS
		if r.Extra != nil {
			extra.BusiestShare += r.Extra.BusiestShare
		}
	}
	sum.Round, sum.PeakRSS = o.Round, host.PeakMemory()
	report := Report{Run: &sum}
	if extra.BusiestShare > 0 {
		extra.BusiestShare /= float64(sum.Windows)
		report.Extra = &extra
	}
	return report
}

func add(to *document.Ledger, l document.Ledger) {
	to.Published += l.Published
	to.Handled += l.Handled
	to.Lost += l.Lost
	to.Duplicated += l.Duplicated
	to.Reordered += l.Reordered
	to.Ordered = l.Ordered
}
