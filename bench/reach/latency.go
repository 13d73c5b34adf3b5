package reach

import (
	"fmt"
	"slices"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// rungIn is an offered load of one consumer, or nil.
func rungIn(p *document.Part, subject string, rate int) *document.Row {
	return find(p, func(r *document.Row) bool {
		return r.Method == document.Offered && r.Subject == subject && r.Flow == matrix.Parallel && r.Consumers == 1 &&
			r.Rate == rate
	})
}

// stands is why a rung has no percentiles, or nothing.
func stands(r *document.Row) string {
	switch {
	case r == nil || r.NotShown != nil || r.Load == nil:
		return why(r)
	case !r.Load.Sustained:
		return "not sustained"
	default:
		return ""
	}
}

// latencyOver is Wherry's p99 over shove's, both counted from the send, with Wherry's own from the intended time beside.
// Both are rows of the peers' part: those of the matrix were measured at another time.
func latencyOver(b *document.Backend) []Line {
	var lines []Line
	for _, step := range []struct {
		rate int
		most float64
	}{{5_000, 0.7}, {25_000, 0.5}} {
		goal := atMost(step.most, quantity.Times)
		cell := quantity.Rate(float64(step.rate)) + "/s"
		of, to := rungIn(b.Peers, matrix.Wherry, step.rate), rungIn(b.Peers, "shove", step.rate)
		if reason := stands(of); reason != "" {
			lines = append(lines, rungMissing(goal, cell, of, reason))
			continue
		}
		if reason := stands(to); reason != "" {
			lines = append(lines, goal.missing(cell, "shove: "+reason))
			continue
		}
		if of.Load.FromSend == nil || to.Load.FromSend == nil {
			lines = append(lines, goal.missing(cell, "a row does not say its latency from the send"))
			continue
		}
		ours, theirs := float64(of.Load.FromSend.P99), float64(to.Load.FromSend.P99)
		intended := "withheld: " + whyWithheld(of.Load)
		if q := of.Load.Latency; q != nil {
			intended = quantity.Duration(float64(q.P99))
		}
		v, runs := ofRuns(ours/theirs, quotients(of.Load.P99sFromSend, to.Load.P99sFromSend))
		line := goal.line(cell, v,
			fmt.Sprintf("%s against %s; from the intended time %s", quantity.Duration(ours), quantity.Duration(theirs), intended),
			charts.Name(&of.Cell)+" over shove").of(rangeOf(runs, "run"))
		lines = append(lines, line.doubted(b.Peers, runs))
	}
	return lines
}

// ofRuns is a value with the range of all runs, and how many there are. Without them it is that of one run, alone.
func ofRuns(one float64, each []float64) (v value, runs int) {
	if len(each) == 0 {
		return value{one, one, one}, 1
	}
	slices.Sort(each)
	return value{each[0], each[(len(each)-1)/2], each[len(each)-1]}, len(each)
}

// of says what the interval of a line is of.
func (l Line) of(interval string) Line {
	l.Of = interval
	return l
}

// rangeOf says that an interval is the range of so many things.
func rangeOf(n int, thing string) string {
	if n == 1 {
		return "one " + thing
	}
	return fmt.Sprintf("lowest and highest of %d %ss", n, thing)
}

// quotients are those of the runs of the same round, or nothing where one of two rungs does not have each of its runs.
func quotients(of, to []int64) []float64 {
	if len(of) != len(to) {
		return nil
	}
	all := floats(of)
	for i := range all {
		all[i] /= float64(to[i])
	}
	return all
}

func floats(of []int64) []float64 {
	all := make([]float64, 0, len(of))
	for _, n := range of {
		all = append(all, float64(n))
	}
	return all
}

// latencyAt is Wherry's p99 at the highest rate, which must be sustained, wherever it was measured.
func latencyAt(b *document.Backend) []Line {
	const rate = 100_000
	goal := atMost(1e6, quantity.Duration)
	var lines []Line
	for _, p := range []struct {
		cell string
		part *document.Part
	}{{"100 k/s, in the matrix", b.Matrix}, {"100 k/s, among the peers", b.Peers}} {
		r := rungIn(p.part, matrix.Wherry, rate)
		if r == nil && len(lines) > 0 {
			continue
		}
		if reason := stands(r); reason != "" {
			lines = append(lines, rungMissing(goal, p.cell, r, reason))
			continue
		}
		if r.Load.Latency == nil {
			lines = append(lines, goal.missing(p.cell, whyWithheld(r.Load)))
			continue
		}
		v, runs := ofRuns(float64(r.Load.Latency.P99), floats(r.Load.P99s))
		line := goal.line(p.cell, v, "", charts.Name(&r.Cell)).of(rangeOf(runs, "run"))
		lines = append(lines, line.doubted(p.part, runs))
	}
	return lines
}

// whyWithheld is why a load that was sustained has no latency from the intended time.
func whyWithheld(l *document.Load) string {
	if l.Withheld == nil {
		return "it is not there"
	}
	return charts.Reason(l.Withheld)
}

// rungMissing is a rung of Wherry's without percentiles. One that was not sustained is measured, and not reached.
func rungMissing(goal bound, cell string, r *document.Row, reason string) Line {
	line := goal.missing(cell, reason)
	if r != nil && r.NotShown == nil && r.Load != nil {
		line.Verdict, line.From = NotReached, charts.Name(&r.Cell)
	}
	return line
}
