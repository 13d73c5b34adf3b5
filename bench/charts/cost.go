package charts

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// flowCost is what one message costs by flow: time and processor time, at one consumer and the smallest payload.
func flowCost(d *document.Document, b *document.Backend) []Figure {
	const family = "cost"
	name, title := b.Name+"-cost", b.Name+": what a message costs, by flow"
	all := drains(d, b)
	if len(all.rows) == 0 {
		return refusal1(family, name, title, "The document has no drain with a handler that does nothing.")
	}
	small := all.distinct(func(r *document.Row) int { return r.Payload })[0]
	s := pick(d, b, b.Matrix, func(r *document.Row) bool {
		return r.Subject == matrix.Harness || r.Subject == matrix.Wherry && r.Method == document.Drain && r.Handler == matrix.Zero &&
			r.Payload == small && r.Consumers <= 1
	})
	differ, _ := differing(s.cells(), consumers, payload, procs, handler, subject)
	_, alike := differing(s.where(func(r *document.Row) bool { return r.Subject != matrix.Harness }).cells())
	f := s.figure(family, name, title, differ, alike)
	f.Sub = sentence(f.Sub, "Time per message is one over the median rate; processor time is that of all cores.")
	f.Table = Table{Head: []string{"flow", "time per message", "processor time per message"}}
	body := &bars{legend: []string{"time per message", "processor time per message"}}
	var values []float64
	for _, r := range s.rows {
		cell := label(&r.Cell, differ)
		if r.Summary == nil || r.Summary.Median <= 0 {
			f.Table.Rows = append(f.Table.Rows, []string{cell, "n/s", "n/s"})
			continue
		}
		ns, sum := 1e9/r.Summary.Median, r.Summary
		time := reading{low: 1e9 / sum.Best, mid: ns, high: 1e9 / sum.Worst, series: 0}
		processor := reading{low: sum.CPU, mid: sum.CPU, high: sum.CPU, series: 1}
		values = append(values, time.low, time.high, sum.CPU)
		body.rows = append(body.rows, bar{label: cell, readings: []reading{time, processor}, value: quantity.Duration(ns)})
		f.Table.Rows = append(f.Table.Rows, []string{cell, quantity.Duration(ns), quantity.Duration(sum.CPU)})
	}
	if len(values) == 0 {
		return []Figure{f.refused(s)}
	}
	slices.SortStableFunc(body.rows, func(a, b bar) int { return cmp.Compare(a.readings[0].mid, b.readings[0].mid) })
	body.x = valueAxis("per message; the number is the time", quantity.Duration, values)
	f.body = body
	return []Figure{f}
}

// codeCost is instructions and allocations per message, counted: a chart for each codec, and one of what middleware adds.
func codeCost(d *document.Document, b *document.Backend) []Figure {
	title := b.Name + ": instructions per message"
	all := pick(d, b, b.Code, func(r *document.Row) bool { return r.Method == document.Count })
	plain, added := all.where(func(r *document.Row) bool { return !isMiddleware(r) }), all.where(isMiddleware)
	var figures []Figure
	for _, s := range by(plain, func(r *document.Row) string { return r.Codec }) {
		name := s.rows[0].Codec
		figures = append(figures, s.counts(b.Name+"-code-"+slug(name), title+", codec "+name, false))
	}
	if len(added.rows) > 0 {
		figures = append(figures, added.counts(b.Name+"-code-middleware", b.Name+": instructions that each middleware adds", true))
	}
	return orRefusal(figures, "code", title, "The document has no counted rows: no instructions and no allocations.")
}

func isMiddleware(r *document.Row) bool { return strings.HasPrefix(r.Flow, "middleware") }

// counts draws counted rows: their instructions, or how many more than the scenario that they are compared with.
func (s selection) counts(name, title string, more bool) Figure {
	differ, alike := differing(s.cells(), consumers, workers, subject)
	f := s.figure("code", name, title, differ, alike)
	f.Sub = sentence(f.Sub, "Counted, not timed: the slope between N and 2 N messages.")
	f.Table = Table{Head: []string{
		"scenario", "instructions", "spread", "more than", "by", "allocations", "bytes allocated", "first delivery, instructions",
	}}
	body := &bars{}
	var values []float64
	for _, r := range s.rows {
		cell := label(&r.Cell, differ)
		if r.Code == nil || r.NotShown != nil || len(r.Code.Runs) == 0 || more && r.Code.More == nil {
			f.Table.Rows = append(f.Table.Rows, []string{cell, "n/s", "n/s", "", "", "n/s", "n/s", "n/s"})
			continue
		}
		c := r.Code
		half, centre := c.Instructions*c.Spread, c.Instructions
		if more {
			half, centre = s.part.MoreHalf(r), *c.More
		}
		v := reading{low: centre - half, mid: centre, high: centre + half, series: 1}
		if r.Subject == matrix.Wherry {
			v.series = wherryColour
		}
		values = append(values, v.low, v.high)
		body.rows = append(body.rows, bar{
			label: seriesLabel(&r.Cell, differ), readings: []reading{v},
			value: quantity.Whole(centre) + " · " + counts(c.Allocations, "alloc"),
		})
		f.Table.Rows = append(f.Table.Rows, codeCells(cell, c))
	}
	if len(values) == 0 {
		return f.refused(s)
	}
	body.x = valueAxis("instructions per message, and allocations", quantity.Whole, values)
	body.filled = !body.x.log
	f.body = body
	return f
}

func codeCells(cell string, c *document.Code) []string {
	by := ""
	if c.More != nil {
		by = quantity.Whole(*c.More)
	}
	return []string{
		cell, quantity.Whole(c.Instructions), "±" + strconv.FormatFloat(c.Spread*100, 'f', 2, 64) + " %", c.Over, by,
		quantity.Number(c.Allocations), quantity.Number(c.Bytes), quantity.Whole(float64(c.Runs[0].ColdInstr)),
	}
}

// counts writes a number of things that need not be whole.
func counts(v float64, thing string) string {
	if v == 1 {
		return "1 " + thing
	}
	return quantity.Number(v) + " " + thing + "s"
}
