package reach

import (
	"fmt"
	"strings"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// sequencedOver is the rate in the order of keys over that in any order: decoded in the matrix, and without a decode among the
// levers, where no decoder hides what order costs.
func sequencedOver(b *document.Backend) []Line {
	goal := atLeast(0.5, quantity.Times)
	lines := make([]Line, 0, len(drainCells)+1)
	for _, n := range drainCells {
		lines = append(lines, flowLine(goal, b.Matrix, consumersOf(n)+", json", matrix.Sequence, func(r *document.Row) bool {
			return plainDrain(r) && r.Payload == 64 && r.Consumers == n && r.Codec == matrix.JSON
		}))
	}
	return append(lines, flowLine(goal, b.Levers, "without a decode", matrix.Sequence, func(r *document.Row) bool {
		return plainDrain(r) && r.Payload == 64 && r.Codec == matrix.BytesView
	}))
}

// plainDrain reports whether a row is a drain of Wherry's with nothing but a flow.
func plainDrain(r *document.Row) bool {
	return r.Method == document.Drain && r.Subject == matrix.Wherry && r.Variant == "" && r.Handler == matrix.Zero &&
		r.Workers == 0 && r.Prefetch == 0
}

// flowLine is a target of a flow's rate over that of single messages in any order, whose row is the same in all else.
func flowLine(goal bound, p *document.Part, cell, flow string, suits func(*document.Row) bool) Line {
	of := find(p, func(r *document.Row) bool { return r.Flow == flow && suits(r) })
	to := find(p, func(r *document.Row) bool { return r.Flow == matrix.Parallel && suits(r) })
	line := ratioLine(goal, p, cell, ratioOfRows(p, of, to), of, to)
	if line.From != "" {
		line.From = charts.Name(&of.Cell) + " over " + matrix.Parallel
	}
	return line
}

// ratioOfRows is the ratio of two rows that were measured in turn, or nil.
func ratioOfRows(p *document.Part, of, to *document.Row) *document.Ratio {
	if of == nil || to == nil {
		return nil
	}
	return ratioOf(p, func(r *document.Ratio) bool { return r.Of == of.Cell && r.To == to.Cell })
}

// sequenceBlocks is what a message of a sequence allocates.
func sequenceBlocks(b *document.Backend) []Line {
	goal, r := atMost(0, quantity.Number), scenario(b, "sequence")
	const cell = "sequence, allocations"
	if !isCounted(r) {
		return []Line{goal.missing(cell, why(r))}
	}
	low, high := blocks(r.Code)
	line := goal.line(cell, value{whole(low), whole(r.Code.Allocations), whole(high)}, quantity.Whole(r.Code.Instructions)+" instructions",
		"counted, "+charts.Name(&r.Cell))
	return []Line{line.of(runsOf(r)).doubted(b.Code, len(r.Code.Runs))}
}

// poisonedKey is what one key of 1,000 that fails for ever costs the others.
func poisonedKey(b *document.Backend) []Line {
	goal := bound{less: true, limit: 5, unit: func(v float64) string { return quantity.Number(v) + " %" }}
	const cell = "the rate of the others"
	of := find(b.Levers, func(r *document.Row) bool { return r.Flow == matrix.Sequence && r.Variant == matrix.PoisonedKey })
	var to *document.Row
	if of != nil {
		plain := of.Cell
		plain.Variant = ""
		to = rowOf(b.Levers, plain)
	}
	r := ratioOfRows(b.Levers, of, to)
	if r == nil {
		return []Line{ratioLine(goal, b.Levers, cell, nil, of, to)}
	}
	lost := func(ratio float64) float64 { return 100 * (1 - ratio) }
	line := goal.line(cell, value{lost(r.High), lost(r.Median), lost(r.Low)}, processorTime(b.Levers, r.Of, r.To),
		charts.Name(&r.Of)+" over none")
	return []Line{line.of(r.Interval()).doubted(b.Levers, r.Rounds)}
}

// sequencedOverPeer is the rate in the order of keys over a peer's, published and consumed at once.
func sequencedOverPeer(b *document.Backend) []Line {
	return overPeer(document.Live, "shove", matrix.Sequence, 64, []int{8}, always(2))(b)
}

// batchOver is the rate of batches over that of single messages, at every payload: a drain fills its batches.
func batchOver(b *document.Backend) []Line {
	goal := atLeast(1, quantity.Times)
	var lines []Line
	for _, payload := range []int{64, 1 << 10, 64 << 10} {
		for _, codec := range []string{matrix.JSON, matrix.FastJSON} {
			for _, n := range drainCells {
				suits := func(r *document.Row) bool {
					return plainDrain(r) && r.Payload == payload && r.Codec == codec && r.Consumers == n
				}
				if codec != matrix.JSON && find(b.Matrix, func(r *document.Row) bool { return r.Flow == matrix.Batch && suits(r) }) == nil {
					continue // The second codec is beside the default at some payloads.
				}
				cell := fmt.Sprintf("%s, %s, %s", quantity.Size(float64(payload)), consumersOf(n), codec)
				lines = append(lines, flowLine(goal, b.Matrix, cell, matrix.Batch, suits))
			}
		}
	}
	return lines
}

// batchOfCalls is the rate of batches over that of single messages, both of one worker, where a call of the handler takes a while.
func batchOfCalls(b *document.Backend) []Line {
	goal := atLeast(50, quantity.Times)
	var lines []Line
	for _, c := range []struct{ codec, cell string }{{matrix.BytesView, "without a decode"}, {matrix.JSON, "json"}} {
		lines = append(lines, flowLine(goal, b.Levers, c.cell, matrix.Batch, func(r *document.Row) bool {
			return r.Method == document.Drain && r.Handler == matrix.Call && r.Consumers == 1 && r.Codec == c.codec
		}))
	}
	return lines
}

// batchAge is how much longer than its age a batch waits that does not fill: the p99 from the intended time, less the age.
func batchAge(b *document.Backend) []Line {
	goal := atMost(5e6, quantity.Duration)
	var lines []Line
	find(b.Matrix, func(r *document.Row) bool {
		if r.Method == document.Offered && r.Subject == matrix.Wherry && r.Flow == matrix.Batch && r.Rate < matrix.Fills(r.Consumers) {
			lines = append(lines, goal.ageLine(b.Matrix, r))
		}
		return false
	})
	if lines == nil {
		lines = append(lines, goal.missing("any", why(nil)))
	}
	return lines
}

func (b bound) ageLine(p *document.Part, r *document.Row) Line {
	cell := fmt.Sprintf("%s/s, %s", quantity.Rate(float64(r.Rate)), consumersOf(r.Consumers))
	if reason := stands(r); reason != "" {
		return rungMissing(b, cell, r, reason)
	}
	if r.Load.Latency == nil {
		return b.missing(cell, whyWithheld(r.Load))
	}
	for _, bounds := range []string{fmt.Sprintf("batch-size=%d", matrix.BatchSize), fmt.Sprintf("batch-age=%v", matrix.BatchAge)} {
		if !strings.Contains(strings.Join(r.Settings, " ")+" ", bounds+" ") {
			return b.missing(cell, "its batches do not have "+bounds)
		}
	}
	age := float64(matrix.BatchAge)
	beyond := floats(r.Load.P99s)
	for i := range beyond {
		beyond[i] -= age
	}
	p99 := float64(r.Load.Latency.P99)
	v, runs := ofRuns(p99-age, beyond)
	line := b.line(cell, v, "p99 "+quantity.Duration(p99)+", the age is "+quantity.Duration(age), charts.Name(&r.Cell))
	line.Width = "" // Of a difference that may be nothing it says nothing.
	return line.of(rangeOf(runs, "run")).doubted(p, runs)
}
