package load

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/progress"
)

// A Plan is what to measure.
type Plan struct {
	Backend string
	// Specs are the cells, those of a turn together.
	Specs []matrix.Spec
	// Quick measures one round of each, and rungs of a second. What comes of it is no result.
	Quick   bool
	Program Program

	measure func(ctx context.Context, o Order) Report // nil is the program's
}

const (
	quickRung   = time.Second
	quickWindow = 200 * time.Millisecond
)

// Run measures a plan and returns a row for each spec, in their order. The specs of a turn are measured in turn, round by
// round; rungs of offered load ascend until one is not sustained. A row that could not be measured says why. When ctx ends
// it returns ctx's error, and rows of which the unfinished are marked as interrupted. The meter may be nil.
func Run(ctx context.Context, p Plan, meter progress.Meter) ([]document.Row, error) {
	if meter == nil {
		meter = silent{}
	}
	if p.measure == nil {
		p.measure = p.Program.Measure
	}
	r := &runner{plan: p, meter: meter}
	for _, s := range p.Specs {
		r.cells = append(r.cells, p.cell(s))
	}
	meter.Plan(r.steps())
	rounds := 0
	for _, turn := range r.turns() {
		if turn[0].spec.Method == document.Offered {
			r.climb(ctx, turn)
		} else {
			r.inTurn(ctx, turn, rounds)
			rounds += turn[0].spec.Rounds
		}
	}
	rows := make([]document.Row, 0, len(r.cells))
	for _, c := range r.cells {
		rows = append(rows, c.row)
	}
	return rows, ctx.Err()
}

// Expected is about how long [Run] takes for a spec of the plan: nothing where that cannot be measured.
func (p Plan) Expected(s *matrix.Spec) time.Duration {
	if s.Missing != "" {
		return 0
	}
	c := p.cell(*s)
	return c.expected() * time.Duration(c.spec.Rounds)
}

func (p Plan) cell(s matrix.Spec) *cell {
	if p.Quick {
		s.Rounds = 1
		if s.Length > 0 {
			s.Length = quickRung
		}
	}
	return newCell(s, p.Quick)
}

// silent is the meter of nobody.
type silent struct{}

func (silent) Plan([]progress.Step) {}
func (silent) Begin(string)         {}
func (silent) End(string)           {}

// A cell is a spec on its way to become a row.
type cell struct {
	spec matrix.Spec
	row  document.Row
	over bool // it has a reason why there is no number
	// window is how long a run is meant to take, or a window of one that is made of several; shortest is what is too short,
	// and least what the windows are to take together, 0 for a run of one.
	window, shortest, least time.Duration

	rate float64 // the highest so far
	// messages is the size of the next run, 0 before the probe.
	messages int
}

func newCell(s matrix.Spec, quick bool) *cell {
	c := &cell{spec: s, window: matrix.Window, shortest: matrix.Shortest}
	if s.Method == document.Drain {
		c.least = matrix.Shortest
		if matrix.Sliced(s.Handler) {
			c.window = matrix.Slice
		}
	}
	if quick {
		c.window, c.shortest, c.least = quickWindow, 0, 0
	}
	c.row = document.Row{Cell: s.Cell, Method: s.Method, Settings: s.Settings()}
	if s.Missing != "" {
		c.end(document.Unsupported, s.Missing)
		return c
	}
	c.row.Notes = s.Notes
	return c
}

// end makes the row one without a number.
func (c *cell) end(code document.ReasonCode, text string) {
	c.over = true
	c.row.NotShown = &document.Reason{Code: code, Text: text}
	c.row.Runs, c.row.Load, c.row.Extra = nil, nil, nil
}

// measured reports whether all that the row is to have is there.
func (c *cell) measured() bool { return c.row.Load != nil || len(c.row.Runs) == c.spec.Rounds }

// result is a short text for who waits.
func (c *cell) result() string {
	switch {
	case c.over:
		return fmt.Sprintf("%s: %s", c.row.NotShown.Code, c.row.NotShown.Text)
	case c.row.Load != nil && !c.row.Load.Sustained:
		return "not sustained"
	case c.row.Load != nil && c.row.Load.Latency == nil:
		return fmt.Sprintf("%d published, p99 %v from the send", c.row.Load.Published, time.Duration(c.row.Load.FromSend.P99))
	case c.row.Load != nil:
		return fmt.Sprintf("%d published, p99 %v", c.row.Load.Published, time.Duration(c.row.Load.Latency.P99))
	case len(c.row.Runs) > 0:
		return fmt.Sprintf("%.0f/s", c.row.Runs[len(c.row.Runs)-1].Rate())
	default:
		return "no number"
	}
}
