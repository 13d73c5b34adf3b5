package page

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/quantity"
)

// listed writes the entries of a map in the order of their keys.
func listed(m map[string]string, write func(key, value string) string) string {
	words := make([]string, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		words = append(words, write(key, m[key]))
	}
	return strings.Join(words, ", ")
}

// rows is the page of every row of the document.
func rows(c *content) (string, error) {
	var b strings.Builder
	b.WriteString("# Every row\n\n" +
		"All cells that were asked for, with what was measured or the reason why there is no value (n/s, not shown). " +
		"Back to [the results](README.md).\n\n")
	if c.doc == nil {
		b.WriteString(c.absent + "\n")
		return b.String(), nil
	}
	for _, p := range parts(c.doc) {
		fmt.Fprintf(&b, "## %s: %s\n\n", p.backend, p.name)
		for _, method := range []document.Method{
			document.Drain, document.Live, document.Offered, document.Count, document.Paired,
		} {
			t := charts.Table{Head: heads[method]}
			for i := range p.Rows {
				if r := &p.Rows[i]; r.Method == method {
					t.Rows = append(t.Rows, cells(r, noteOf(p.Part)))
				}
			}
			if len(t.Rows) > 0 {
				fmt.Fprintf(&b, "### Method %s\n\n%s\n", method, markdown(&t))
			}
		}
		if len(p.Ratios) > 0 {
			t := ratios(p.Ratios)
			b.WriteString("### Ratios\n\n" + markdown(&t) + "\n")
		}
	}
	return b.String(), nil
}

var (
	rateHead = []string{
		"cell", "runs", "worst, msg/s", "median, msg/s", "best, msg/s", "CPU per message", "peak memory", "efficiency",
		"a note in the ledger, at most", "also",
	}
	heads = map[document.Method][]string{
		document.Drain:  rateHead,
		document.Live:   rateHead,
		document.Paired: rateHead,
		document.Offered: {
			"cell", "reached", "sustained", "most waiting", "p50", "p95", "p99", "p99.9", "longest", "p99 from the send", "pacer late, p99",
			"p99 from the send, each run",
		},
		document.Count: {
			"cell", "instructions", "spread", "allocations", "bytes", "over", "by", "first delivery, instructions",
		},
	}
)

// cells are what a row says, under the heads of its method. A note in the ledger may be unknown: nil.
func cells(r, note *document.Row) []string {
	name := charts.Name(&r.Cell)
	var values []string
	switch {
	case r.NotShown != nil:
		values = []string{"n/s: " + charts.Reason(r.NotShown)}
	case r.Method == document.Offered && r.Load != nil:
		values = append(loadCells(r.Load), eachRun(r))
	case r.Method == document.Count && r.Code != nil:
		values = codeCells(r.Code)
	case r.Summary != nil:
		values = rateCells(r, note)
	default:
		values = []string{"n/s"}
	}
	row := append([]string{name}, values...)
	for len(row) < len(heads[r.Method]) {
		row = append(row, "")
	}
	return row
}

// eachRun is the p99 of each run of a load, as its note has them.
func eachRun(r *document.Row) string {
	for _, note := range r.Notes {
		if each, ok := document.RunsNote(note); ok {
			return each
		}
	}
	return ""
}

func rateCells(r, note *document.Row) []string {
	s := r.Summary
	also, share := "", ""
	if note != nil && noted(r) {
		share = noteShare(note, r)
	}
	if r.Extra != nil {
		also = extra(r.Extra)
	}
	return []string{
		quantity.Whole(float64(len(r.Runs))), quantity.Rate(s.Worst), quantity.Rate(s.Median), quantity.Rate(s.Best),
		quantity.Duration(s.CPU), quantity.Size(float64(s.PeakRSS)), efficiency(r), share, also,
	}
}

func extra(e *document.Extra) string {
	var words []string
	if e.BusiestShare > 0 {
		words = append(words, "the busiest took "+percent(e.BusiestShare))
	}
	if e.StopNS > 0 {
		words = append(words, "stopped in "+quantity.Duration(float64(e.StopNS)))
	}
	return strings.Join(words, ", ")
}

func percent(share float64) string { return quantity.Number(share*100) + " %" }

func loadCells(l *document.Load) []string {
	sustained := "no"
	if l.Sustained {
		sustained = "yes"
	}
	row := []string{percent(l.Reached), sustained, quantity.Whole(float64(l.PeakLag))}
	switch {
	case l.Withheld != nil:
		row = append(row, "n/s: "+charts.Reason(l.Withheld), "n/s", "n/s", "n/s", "n/s")
	case l.Latency == nil:
		row = append(row, "n/s", "n/s", "n/s", "n/s", "n/s")
	default:
		for _, ns := range []int64{l.Latency.P50, l.Latency.P95, l.Latency.P99, l.Latency.P999, l.Latency.Max} {
			row = append(row, quantity.Duration(float64(ns)))
		}
	}
	for _, q := range []*document.Quantiles{l.FromSend, l.Lateness} {
		if q == nil {
			row = append(row, "n/s")
		} else {
			row = append(row, quantity.Duration(float64(q.P99)))
		}
	}
	return row
}

func codeCells(c *document.Code) []string {
	by, cold := "", ""
	if c.More != nil {
		by = quantity.Whole(*c.More)
	}
	if len(c.Runs) > 0 {
		cold = quantity.Whole(float64(c.Runs[0].ColdInstr))
	}
	return []string{
		quantity.Whole(c.Instructions), "±" + quantity.Number(quantity.Up(c.Spread*100)) + " %", quantity.Number(c.Allocations),
		quantity.Number(c.Bytes), c.Over, by, cold,
	}
}

func ratios(list []document.Ratio) charts.Table {
	t := charts.Table{Head: []string{"of", "to", "low", "median", "high", "rounds"}}
	for i := range list {
		r := &list[i]
		t.Rows = append(t.Rows, []string{
			charts.Name(&r.Of), charts.Name(&r.To), quantity.Times(r.Low), quantity.Times(r.Median), quantity.Times(r.High),
			quantity.Whole(float64(r.Rounds)),
		})
	}
	return t
}
