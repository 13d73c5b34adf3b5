package load

import (
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/matrix"
)

// harness is an empty loop with what the benchmark adds to a message: its number is written into a body, read from it
// again, and noted in the lane of the handler that is found by its message.
func harness(o Order) Report {
	b := views(o.Spec.Payload)
	l := ledger.New(o.Messages)
	owner := new(wherry.Message[[]byte])
	lanes := ledger.NewFinder[wherry.Message[[]byte]](func() *ledger.Lane { return l.Lane(nil) })
	timed := o.Spec.Variant == matrix.WithTimes
	v := b.fresh()
	w := openWindow()
	for id := range o.Messages {
		b.number(&v, uint32(id))
		if timed {
			at := int64(time.Since(w.begun))
			lanes.Lane(owner).NoteAt(b.id(&v), at)
		} else {
			lanes.Lane(owner).Note(b.id(&v))
		}
	}
	run := w.close(int64(o.Messages), time.Time{})
	run.Round, run.PeakRSS = o.Round, host.PeakMemory()
	run.Ledger = l.Judge(int64(o.Messages), ledger.Order{Promised: true})
	if wrong := faultsOf(run.Ledger); len(wrong) > 0 {
		return failed(wrong[0])
	}
	return Report{Run: &run}
}
