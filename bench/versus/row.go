package versus

import (
	"fmt"
	"math"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/versus/program"
)

const (
	// window is how long a run is meant to last, and slice how long one of the windows of a drain, which together last at least
	// as long as the shortest that is a result.
	window   = 1300 * time.Millisecond
	slice    = 200 * time.Millisecond
	shortest = time.Second
	// quickWindow and quickRung are those of a quick run, which is no result.
	quickWindow = 150 * time.Millisecond
	quickRung   = time.Second
	// A probe has so many messages, or so many bytes of them, and is large enough when it takes so long.
	probeMessages = 20_000
	probeBytes    = 128 << 20
	probeWindow   = 40 * time.Millisecond
	// tries is how often a run is made larger because it was too short.
	tries = 5
)

// A row is a spec on its way to become a row of the document.
type row struct {
	spec   matrix.Spec
	quick  bool
	result document.Row
	over   bool // it has a reason why there is no number
	path   string

	messages int // of the next run; 0 before the probe

	loads []*document.Load // the runs of an offered load
}

func newRow(s matrix.Spec, quick bool) *row {
	if quick {
		s.Rounds, s.Length = 1, min(s.Length, quickRung)
	}
	return &row{spec: s, quick: quick, result: document.Row{Cell: s.Cell, Method: s.Method, Notes: s.Notes}}
}

// end makes the row one without a number.
func (r *row) end(reason *document.Reason) {
	r.over = true
	r.result.NotShown = reason
	r.result.Runs, r.result.Load, r.loads = nil, nil, nil
}

// complete tells whether nothing is left to do.
func (r *row) complete() bool {
	return r.over || r.result.Load != nil || len(r.result.Runs) == r.spec.Rounds
}

// window is how long a run is meant to last, or one of the windows that it is made of.
func (r *row) window() time.Duration {
	switch {
	case r.quick:
		return quickWindow
	case r.spec.Method == document.Drain:
		return slice
	default:
		return window
	}
}

// least is what the windows of a drain are to take together.
func (r *row) least() time.Duration {
	if r.quick || r.spec.Method != document.Drain {
		return 0
	}
	return shortest
}

// probe is the size of the first run that tells how large the others are to be.
func (r *row) probe() int {
	return max(8*r.first(), min(probeMessages, probeBytes/r.spec.Payload))
}

// first is how many messages the handlers have at once.
func (r *row) first() int {
	if r.spec.Flow == matrix.Batch {
		return r.spec.Consumers * matrix.BatchSize
	}
	return r.spec.Consumers
}

// size sets the size of the next run by one that was made.
func (r *row) size(run *document.Run) {
	want := run.Rate() * r.window().Seconds()
	if r.spec.Method == document.Drain {
		want += float64(2 * r.first()) // They are gone when the window opens, and of batches as many are left when it closes.
	}
	if most := float64(r.spec.MaxBodies) / float64(r.spec.Payload); r.spec.MaxBodies > 0 {
		want = min(want, most)
	}
	least := float64(8 * r.first())
	r.messages = int(min(max(want, least), math.MaxInt32))
}

// add takes over a run that was long enough.
func (r *row) add(a *program.Answer, round int) {
	run := *a.Run
	run.Round = round
	r.result.Settings = a.Settings
	r.result.Runs = append(r.result.Runs, run)
}

// text is a short result for who waits.
func (r *row) text() string {
	switch {
	case r.over:
		return fmt.Sprintf("%s: %s", r.result.NotShown.Code, r.result.NotShown.Text)
	case r.result.Load != nil && r.result.Load.FromSend != nil:
		return fmt.Sprintf("p99 %v from the send", time.Duration(r.result.Load.FromSend.P99))
	case len(r.result.Runs) > 0:
		return fmt.Sprintf("%.0f/s", r.result.Runs[len(r.result.Runs)-1].Rate())
	default:
		return "no number yet"
	}
}
