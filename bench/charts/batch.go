package charts

import (
	"fmt"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// batchOrParallel compares batches with single messages.
func batchOrParallel(d *document.Document, b *document.Backend) []Figure {
	return append(versus(d, b, "batch", b.Name+": batches against single messages", matrix.Parallel, matrix.Batch), pairedRungs(d, b)...)
}

// sequencedOrParallel compares handling in the order of a key with handling in any order.
func sequencedOrParallel(d *document.Document, b *document.Backend) []Figure {
	return versus(d, b, "sequenced", b.Name+": in order of a key against in any order", matrix.Parallel, matrix.Sequence)
}

// A pair is two rows that differ in their flow.
type pair struct{ one, other *document.Row }

// pairs finds rows of two flows that are alike in all that matters to a comparison.
func pairs(s selection, one, other string) []pair {
	var found []pair
	for _, a := range s.rows {
		for _, b := range s.rows {
			if a.Flow == one && b.Flow == other && a.Payload == b.Payload && a.Consumers == b.Consumers &&
				a.Codec == b.Codec && a.Rate == b.Rate && a.Procs == b.Procs {
				found = append(found, pair{a, b})
			}
		}
	}
	return found
}

// versus draws the drains of two flows, cell by cell.
func versus(d *document.Document, b *document.Backend, family, title, one, other string) []Figure {
	s := drains(d, b).where(func(r *document.Row) bool { return r.Flow == one || r.Flow == other })
	both := pairs(s, one, other)
	if len(both) == 0 {
		return refusal1(family, b.Name+"-"+family, title,
			fmt.Sprintf("The document has no cell that was drained both %s and %s.", one, other))
	}
	differ, alike := differing(s.cells(), flow, variant)
	f := s.figure(family, b.Name+"-"+family, title, append([]field{flow}, differ...), alike)
	f.Sub = sentence(f.Sub, "Marks are medians with the range of the runs; the number is "+other+" over "+one+
		", the median over the rounds of the ratio in each. "+apartMark+" is that of the medians, where cells were not measured in turn.")
	f.Table = Table{Head: []string{"cell", one + ", msg/s", other + ", msg/s", other + " over " + one, "low", "high", "rounds"}}
	body := &bars{legend: []string{one, other}}
	var values []float64
	var span extent
	for _, p := range both {
		name := label(&p.one.Cell, differ)
		if p.one.Summary == nil || p.other.Summary == nil {
			f.Table.Rows = append(f.Table.Rows, []string{name, medianOf(p.one), medianOf(p.other), "n/s", "", "", ""})
			continue
		}
		ratio, text := s.over(p)
		if ratio != nil {
			span.add(ratio.Median)
		}
		a, c := spread(p.one.Summary, 0), spread(p.other.Summary, 1)
		values = append(values, a.low, a.high, c.low, c.high)
		body.rows = append(body.rows, bar{label: name, readings: []reading{a, c}, value: text})
		f.Table.Rows = append(f.Table.Rows, append([]string{name, medianOf(p.one), medianOf(p.other), text}, intervalOf(ratio)...))
	}
	if len(values) == 0 {
		return []Figure{f.refused(s.where(func(r *document.Row) bool { return r.Flow == other }))}
	}
	body.x = valueAxis("messages per second", quantity.Rate, values)
	f.body = body
	if !span.some {
		f.Findings = []string{fmt.Sprintf("No cell of %s was measured in turn with that of %s, so nothing can be said of their ratio.", other, one)}
		return []Figure{f}
	}
	f.Findings = []string{fmt.Sprintf("Over %s that were measured in turn, %s reached %s of the rate of %s.",
		quantity.Count(span.values, "cell"), other, quantity.Span(span.low, span.high, quantity.Times), one)}
	return []Figure{f}
}

// apartMark is before a ratio of medians of cells that were not measured in turn, in which is what the machine did meanwhile.
const apartMark = "~"

// over is the ratio of the rounds that a pair has in common, nil where it has none, and how it is written.
func (s selection) over(p pair) (*document.Ratio, string) {
	for i := range s.part.Ratios {
		if r := &s.part.Ratios[i]; r.Of == p.other.Cell && r.To == p.one.Cell {
			return r, quantity.Times(r.Median)
		}
	}
	return nil, apartMark + quantity.Times(p.other.Summary.Median/p.one.Summary.Median)
}

// intervalOf is the interval of a ratio, and of how many rounds it is.
func intervalOf(r *document.Ratio) []string {
	if r == nil {
		return []string{"", "", ""}
	}
	return []string{quantity.Times(r.Low), quantity.Times(r.High), quantity.Whole(float64(r.Rounds))}
}

func spread(s *document.Summary, series int) reading {
	return reading{low: s.Worst, mid: s.Median, high: s.Best, series: series}
}

func medianOf(r *document.Row) string {
	if r.Summary == nil {
		return "n/s"
	}
	return quantity.Rate(r.Summary.Median)
}

// pairedRungs draws the 99th percentile of batches and of single messages at rates that both sustained.
func pairedRungs(d *document.Document, b *document.Backend) []Figure {
	const family, title = "batch", "what a batch waits"
	name := b.Name + "-batch-latency"
	s := pick(d, b, b.Matrix, func(r *document.Row) bool {
		return r.Subject == matrix.Wherry && r.Method == document.Offered && (r.Flow == matrix.Parallel || r.Flow == matrix.Batch)
	})
	differ, alike := differing(s.cells(), flow, variant)
	f := s.figure(family, name, b.Name+": "+title, append([]field{flow}, differ...), alike)
	f.Sub = sentence(f.Sub, "Latency from the intended time at rates that both sustained: p99, and what batches add to it.")
	f.Table = Table{Head: []string{"cell", "parallel, p99", "batch, p99", "longer by", "batch over parallel"}}
	body := &bars{legend: []string{"parallel, p99", "batch, p99"}}
	var values []float64
	var singles, batches, wait, ratio extent
	slower := 0
	for _, p := range pairs(s, matrix.Parallel, matrix.Batch) {
		if !measured(p.one) || !measured(p.other) {
			f.Table.Rows = append(f.Table.Rows, []string{label(&p.one.Cell, differ), p99OrNone(p.one), p99OrNone(p.other), "n/s", "n/s"})
			for _, r := range []*document.Row{p.one, p.other} {
				if !measured(r) && r.NotShown == nil && r.Load != nil {
					f.Notes = append(f.Notes, "n/s: "+label(&r.Cell, append([]field{flow}, differ...))+": "+withheld(r.Load))
				}
			}
			continue
		}
		one, other := float64(p.one.Load.Latency.P99), float64(p.other.Load.Latency.P99)
		singles.add(one)
		batches.add(other)
		wait.add(other - one)
		ratio.add(other / one)
		if other > one {
			slower++
		}
		values = append(values, one, other)
		cell := label(&p.one.Cell, differ)
		body.rows = append(body.rows, bar{
			label: cell, readings: []reading{{one, one, one, 0}, {other, other, other, 1}}, value: signed(other - one),
		})
		f.Table.Rows = append(f.Table.Rows, []string{
			cell, quantity.Duration(one), quantity.Duration(other), signed(other - one), quantity.Times(other / one),
		})
	}
	if len(values) == 0 {
		if len(s.rows) > 0 {
			f.Refusal = "No rate was sustained by batches and by single messages alike, at the same payload and with as many consumers."
		}
		return []Figure{f}
	}
	body.x = valueAxis("latency, p99", quantity.Duration, values)
	f.body = body
	f.Findings = []string{fmt.Sprintf(
		"Of %s, batches were slower in %d. Their p99 was longer by %s: %s, against %s of single messages, which is %s.",
		quantity.Count(len(body.rows), "pair"), slower, quantity.Span(wait.low, wait.high, signed),
		quantity.Span(batches.low, batches.high, quantity.Duration),
		quantity.Span(singles.low, singles.high, quantity.Duration), quantity.Span(ratio.low, ratio.high, quantity.Times))}
	return []Figure{f}
}

// p99OrNone is the 99th percentile of a rung, if it has one.
func p99OrNone(r *document.Row) string {
	if !measured(r) {
		return "n/s"
	}
	return p99(r)
}

// signed writes a difference of two times.
func signed(ns float64) string {
	if ns > 0 {
		return "+" + quantity.Duration(ns)
	}
	return quantity.Duration(ns)
}

// An extent is the smallest and the largest of values.
type extent struct {
	low, high float64
	some      bool
	values    int
}

func (e *extent) add(v float64) {
	e.values++
	if !e.some {
		e.low, e.high, e.some = v, v, true
	}
	e.low, e.high = min(e.low, v), max(e.high, v)
}
