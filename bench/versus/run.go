package versus

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/progress"
	"github.com/wherryhq/wherry/bench/versus/program"
)

// Options are what to measure.
type Options struct {
	// Root is the folder of the repository, whose bench/peers has the programs. Empty is the working folder.
	Root string
	// Cells are what is measured, those of a turn together. Nil is all of [Cells].
	Cells []matrix.Spec
	// Quick measures one round of each, and rungs of a second. What comes of it is no result.
	Quick bool

	found   func(tool string) (string, error) // nil is exec.LookPath
	sources []*source                         // nil is those of this package
}

// Run builds the programs, measures the cells and returns a row for each, in their order. The subjects of a turn are run in
// turn, in each round by another order. What cannot be built or measured is a row that says why. When ctx ends Run returns
// its error, with the rows that were finished, and the others marked as interrupted. The meter may be nil.
func Run(ctx context.Context, o Options, meter progress.Meter) ([]document.Row, error) {
	if o.Cells == nil {
		o.Cells = Cells()
	}
	if o.found == nil {
		o.found = exec.LookPath
	}
	if o.sources == nil {
		o.sources = []*source{&goPeers, &rustPeers}
	}
	if meter == nil {
		meter = silent{}
	}
	root, err := filepath.Abs(o.Root)
	if err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp("", "wherry-peers-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	r := &runner{meter: meter, run: once}
	for _, s := range o.Cells {
		r.rows = append(r.rows, newRow(s, o.Quick))
	}
	sources := r.needed(o.sources)
	meter.Plan(append(buildSteps(sources), r.steps()...))
	r.build(ctx, &builder{root: root, temp: temp, found: o.found}, sources)
	return r.measure(ctx)
}

// Expected is about how long Run takes for a cell, building apart.
func (o Options) Expected(s *matrix.Spec) time.Duration {
	r := newRow(*s, o.Quick)
	probe, run := r.expected()
	return probe + time.Duration(r.spec.Rounds)*run
}

type silent struct{}

func (silent) Plan([]progress.Step) {}
func (silent) Begin(string)         {}
func (silent) End(string)           {}

// A runner measures rows.
type runner struct {
	meter progress.Meter
	rows  []*row
	run   func(ctx context.Context, path string, s *matrix.Spec, n size) *program.Answer
}

// needed are the sources of which a row wants a program.
func (r *runner) needed(sources []*source) []*source {
	var all []*source
	for _, s := range sources {
		for _, row := range r.rows {
			if _, ok := s.built[row.spec.Subject]; ok {
				all = append(all, s)
				break
			}
		}
	}
	return all
}

func buildSteps(sources []*source) []progress.Step {
	steps := make([]progress.Step, 0, len(sources))
	for _, s := range sources {
		steps = append(steps, progress.Step{Name: s.name, Expected: s.takes})
	}
	return steps
}

// build gives each row the path of its program, or the reason why there is none.
func (r *runner) build(ctx context.Context, b *builder, sources []*source) {
	reasons := map[string]*document.Reason{}
	paths := map[string]string{}
	for _, s := range sources {
		r.meter.Begin(s.name)
		built, reason := b.build(ctx, s)
		for subject := range s.built {
			paths[subject], reasons[subject] = built[subject], reason
		}
		if reason != nil {
			r.meter.End(reason.Text)
			continue
		}
		r.meter.End("built")
	}
	for _, row := range r.rows {
		row.path = paths[row.spec.Subject]
		switch reason := reasons[row.spec.Subject]; {
		case reason != nil:
			row.end(reason)
		case row.path == "":
			row.end(unbuilt("no program runs %s", row.spec.Subject))
		}
	}
}

// turns are the rows that are measured in turn together.
func (r *runner) turns() [][]*row {
	var all [][]*row
	for _, next := range r.rows {
		if n := len(all); n > 0 && all[n-1][0].spec.Turn == next.spec.Turn {
			all[n-1] = append(all[n-1], next)
			continue
		}
		all = append(all, []*row{next})
	}
	return all
}

// steps are what the meter sees, in the order in which it happens: a step is a round of a turn.
func (r *runner) steps() []progress.Step {
	var all []progress.Step
	for _, turn := range r.turns() {
		var probes, runs time.Duration
		for _, row := range turn {
			probe, run := row.expected()
			probes, runs = probes+probe, runs+run
		}
		for round := range turn[0].spec.Rounds {
			step := progress.Step{Name: roundName(turn, round), Expected: runs}
			if round == 0 {
				step.Expected += probes
			}
			all = append(all, step)
		}
	}
	return all
}

func roundName(turn []*row, round int) string {
	if turn[0].spec.Rounds == 1 {
		return turn[0].spec.Turn
	}
	return fmt.Sprintf("%s, round %d of %d", turn[0].spec.Turn, round+1, turn[0].spec.Rounds)
}

// measure measures all rows.
func (r *runner) measure(ctx context.Context) ([]document.Row, error) {
	first := 0 // Rounds have numbers that no other turn has: rows of different turns have no ratio.
	for _, turn := range r.turns() {
		for round := range turn[0].spec.Rounds {
			r.meter.Begin(roundName(turn, round))
			r.round(ctx, turn, first+round)
			r.meter.End(summary(turn))
		}
		first += turn[0].spec.Rounds
	}
	rows := make([]document.Row, 0, len(r.rows))
	for _, row := range r.rows {
		if !row.complete() {
			row.end(unbuilt(interrupted))
		}
		rows = append(rows, row.result)
	}
	return rows, ctx.Err()
}

// summary says what the rows of a turn have come to.
func summary(turn []*row) string {
	if len(turn) == 1 {
		return turn[0].text()
	}
	missing := 0
	for _, row := range turn {
		if row.over {
			missing++
		}
	}
	if missing == 0 {
		return fmt.Sprintf("%d subjects; %s %s", len(turn), turn[0].spec.Subject, turn[0].text())
	}
	return fmt.Sprintf("%d subjects, %d without a number; %s %s", len(turn), missing, turn[0].spec.Subject, turn[0].text())
}
