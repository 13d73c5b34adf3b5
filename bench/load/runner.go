package load

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/progress"
)

// A runner measures the cells of a plan.
type runner struct {
	plan  Plan
	meter progress.Meter
	cells []*cell
}

// turns are the cells that can be measured, those that are measured in turn together.
func (r *runner) turns() [][]*cell {
	var all [][]*cell
	for _, c := range r.cells {
		if c.spec.Missing != "" {
			continue
		}
		if n := len(all); n > 0 && all[n-1][0].spec.Turn == c.spec.Turn {
			all[n-1] = append(all[n-1], c)
			continue
		}
		all = append(all, []*cell{c})
	}
	return all
}

// steps are what the meter sees, in the order in which it happens.
func (r *runner) steps() []progress.Step {
	var all []progress.Step
	add := func(c *cell) { all = append(all, progress.Step{Name: c.spec.Name(), Expected: c.expected()}) }
	for _, turn := range r.turns() {
		if turn[0].spec.Method == document.Offered {
			for _, c := range turn {
				for range c.spec.Rounds {
					add(c)
				}
			}
			continue
		}
		for range turn[0].spec.Rounds {
			for _, c := range turn {
				add(c)
			}
		}
	}
	return all
}

// expected is about how long one round takes.
func (c *cell) expected() time.Duration {
	one := c.spec.Expected() / time.Duration(c.spec.Rounds)
	if c.shortest > 0 || c.spec.Method == document.Offered {
		return one
	}
	return one - matrix.Window + c.window
}

// step does something with a cell, unless it is over or nobody waits any more. What fails when nobody waits any more says
// nothing of the cell.
func (r *runner) step(ctx context.Context, c *cell, do func()) {
	r.meter.Begin(c.spec.Name())
	if !c.over {
		if ctx.Err() == nil {
			do()
		}
		if ctx.Err() != nil && !c.measured() {
			c.end(document.NotMeasured, interrupted)
		}
	}
	r.meter.End(c.result())
}

const interrupted = "interrupted"

// inTurn measures each cell once in every round. The rounds have numbers from first on, which no other turn has: cells
// that were not measured in turn have no round in common, and so no ratio.
func (r *runner) inTurn(ctx context.Context, turn []*cell, first int) {
	for round := range turn[0].spec.Rounds {
		for _, c := range turn {
			r.step(ctx, c, func() { r.round(ctx, c, first+round, round == 0) })
		}
	}
}

// tries is how often a run is made larger because it was too short.
const tries = 3

// round measures a cell once, with so many messages that it takes long enough.
func (r *runner) round(ctx context.Context, c *cell, round int, first bool) {
	order := Order{
		Backend: r.plan.Backend, Spec: c.spec, Round: round, Least: c.least, Stop: first && c.spec.Prefetch > 0,
	}
	if c.messages == 0 {
		probe := order
		probe.Messages, probe.Least, probe.Stop = c.probe(), 0, false
		report := r.plan.measure(ctx, probe)
		if c.refused(report) {
			return
		}
		c.learn(report.Run)
	}
	for try := 1; ; try++ {
		order.Messages = c.messages
		report := r.plan.measure(ctx, order)
		if c.refused(report) {
			return
		}
		c.learn(report.Run)
		if took := time.Duration(report.Run.ElapsedNS); took < c.shortest {
			if try < tries && c.messages > order.Messages {
				continue
			}
			c.end(document.TooShort, fmt.Sprintf("%d messages took %v, and %v is the shortest that counts",
				order.Messages, took.Round(time.Millisecond), c.shortest))
			return
		}
		c.row.Runs = append(c.row.Runs, *report.Run)
		c.adopt(report.Extra)
		return
	}
}

// probe is the size of a first run, which tells how large the others have to be.
func (c *cell) probe() int {
	switch first := c.first(); {
	case c.spec.Handler == matrix.Slow:
		return 3 * first
	case c.spec.Handler != matrix.Zero:
		return 16 * first
	case c.spec.RoundTrip > 0:
		return 16*first + 4*c.spec.Workers*c.spec.Prefetch
	default:
		return max(4*first, min(probeMessages, probeBytes/c.spec.Payload))
	}
}

// first is how many messages the handlers have before the window opens.
func (c *cell) first() int { return shapeOf(&c.spec).handlers() * c.perCall() }

// perCall is how many messages a handler has at a time.
func (c *cell) perCall() int {
	if c.spec.Flow == matrix.Batch {
		return c.spec.BatchSize
	}
	return 1
}

const (
	probeMessages = 50_000
	probeBytes    = 64 << 20
)

// refused takes over why a run has no number.
func (c *cell) refused(r Report) bool {
	switch {
	case r.None != nil:
		c.end(r.None.Code, r.None.Text)
	case r.Run == nil:
		c.end(document.Failed, "the process reported no run")
	default:
		if wrong := faultsOf(r.Run.Ledger); len(wrong) > 0 {
			c.end(document.Failed, fmt.Sprintf("of %d messages %s", r.Run.Ledger.Published, wrong[0]))
		}
	}
	return c.over
}

// learn sizes the next run for the highest rate that was seen, since a run that is too long only takes time.
func (c *cell) learn(run *document.Run) {
	c.rate = max(c.rate, run.Rate())
	want := c.rate * c.window.Seconds() / float64(readersOf(&c.spec))
	if c.spec.Method == document.Drain {
		first := float64(c.first())
		if c.spec.Flow == matrix.Batch {
			first *= 2 // And as many at the end.
		}
		want = max(want+first, 3*first)
	}
	most := float64(math.MaxInt32)
	if c.spec.MaxBodies > 0 {
		most = min(most, float64(c.spec.MaxBodies)/float64(c.spec.Payload+envelope))
	}
	if c.spec.Most > 0 {
		most = min(most, float64(c.spec.Most))
	}
	c.messages = max(1, int(min(want, most)))
	c.messages += (c.perCall() - c.messages%c.perCall()) % c.perCall() // The last batch is a full one, if it can be.
}

// envelope is more than what a body has besides its payload.
const envelope = 128

// adopt takes over what a lever row says besides its rate: the most uneven round, and the one that was stopped.
func (c *cell) adopt(e *document.Extra) {
	if e == nil {
		return
	}
	if c.row.Extra == nil {
		c.row.Extra = &document.Extra{}
	}
	c.row.Extra.BusiestShare = max(c.row.Extra.BusiestShare, e.BusiestShare)
	c.row.Extra.StopNS = max(c.row.Extra.StopNS, e.StopNS)
}

// climb measures rungs, each as often as it has rounds, until one is not sustained.
func (r *runner) climb(ctx context.Context, ladder []*cell) {
	var stopped string
	for _, c := range ladder {
		var loads []*document.Load
		for range c.spec.Rounds {
			r.step(ctx, c, func() {
				if stopped != "" {
					c.end(document.NotMeasured, stopped)
					return
				}
				if load := r.rung(ctx, c); load != nil {
					loads = append(loads, load)
				}
				if len(loads) == c.spec.Rounds {
					c.row.TakeMedian(loads)
				}
			})
		}
		switch {
		case stopped != "":
		case c.over:
			stopped = fmt.Sprintf("the ladder stopped at %d/s, which has no number", c.spec.Rate)
		case !c.row.Load.Sustained:
			stopped = fmt.Sprintf("the ladder stopped at %d/s, which was not sustained", c.spec.Rate)
		}
	}
}

// rung measures one rung once. It returns nil where that has no number, and the cell none with it.
func (r *runner) rung(ctx context.Context, c *cell) *document.Load {
	report := r.plan.measure(ctx, Order{Backend: r.plan.Backend, Spec: c.spec})
	switch load := report.Load; {
	case report.None != nil:
		c.end(report.None.Code, report.None.Text)
	case load == nil:
		c.end(document.Failed, "the process reported no load")
	case len(faultsOf(load.Ledger)) > 0:
		c.end(document.Failed, fmt.Sprintf("of %d messages %s", load.Ledger.Published, faultsOf(load.Ledger)[0]))
	default:
		return load
	}
	return nil
}
