package load

import (
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/matrix"
)

// repeated makes one run of as many windows as the order asks for. Where handlers take their time nobody would see whether the
// process is cold.
func repeated(o *Order, once func(first bool) Report) Report {
	windows := ledger.NewWindows(o.Least, o.Least > 0 && matrix.Sliced(o.Spec.Handler))
	extra := document.Extra{}
	for first := true; windows.More(); first = false {
		r := once(first)
		if r.None != nil {
			return r
		}
		if o.Least > 0 && r.Run.ElapsedNS < 1 {
			return failed("a window took no time, so that no number of them is enough")
		}
		timed := windows.Add(r.Run)
		if r.Extra == nil {
			continue
		}
		extra.StopNS = max(extra.StopNS, r.Extra.StopNS)
		if timed {
			extra.BusiestShare += r.Extra.BusiestShare
		}
	}
	run := windows.Run()
	run.Round, run.PeakRSS = o.Round, host.PeakMemory()
	report := Report{Run: run}
	if extra.BusiestShare > 0 {
		extra.BusiestShare /= float64(run.Windows)
		report.Extra = &extra
	}
	return report
}
