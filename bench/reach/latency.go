package reach

import (
	"fmt"

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
		v := ours / theirs
		intended := "withheld: " + whyWithheld(of.Load)
		if q := of.Load.Latency; q != nil {
			intended = quantity.Duration(float64(q.P99))
		}
		line := goal.line(cell, value{v, v, v},
			fmt.Sprintf("%s against %s; from the intended time %s; a run of each, so no interval",
				quantity.Duration(ours), quantity.Duration(theirs), intended),
			charts.Name(&of.Cell)+" over shove")
		lines = append(lines, line.doubted(b.Peers, fewestRounds))
	}
	return lines
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
		v := float64(r.Load.Latency.P99)
		line := goal.line(p.cell, value{v, v, v}, "a run, so no interval", charts.Name(&r.Cell))
		lines = append(lines, line.doubted(p.part, fewestRounds))
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
