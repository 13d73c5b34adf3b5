package charts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// measured reports whether a rung has percentiles: it was sustained, and its pacer was in time.
func measured(r *document.Row) bool {
	return r.NotShown == nil && r.Load != nil && r.Load.Sustained && r.Load.Latency != nil
}

// withheld says why a rung that was measured has no percentiles from the intended time.
func withheld(l *document.Load) string {
	if l.Withheld != nil {
		return Reason(l.Withheld) + "."
	}
	return "not sustained, its percentiles would be those of a backlog."
}

// rungs are the offered loads of Wherry's plain parallel consumer.
func rungs(d *document.Document, b *document.Backend) selection {
	return pick(d, b, b.Matrix, func(r *document.Row) bool {
		return r.Subject == matrix.Wherry && r.Method == document.Offered && r.Flow == matrix.Parallel && r.Handler == matrix.Zero
	})
}

// dispatchLatency has a chart over all backends: of each the fewest consumers that sustained a rung, at the highest rate
// that they sustained.
func dispatchLatency(d *document.Document) []Figure {
	f := Figure{
		Family: "latency", Name: "latency", Title: "Dispatch latency under the highest load that was sustained",
		Sub: "From the intended time of the send. The plain parallel consumer alone: the percentiles of batches are their age bound.",
	}
	f.Table = Table{Head: []string{"cell", "p50", "p95", "p99", "p99.9", "longest", "pacer late, p99"}}
	body := &bars{legend: []string{"p50", "p95", "p99", "p99.9", "longest"}}
	var values []float64
	for i := range d.Backends {
		b := &d.Backends[i]
		s := rungs(d, b)
		if f.Caption == "" && s.part != nil {
			f.Caption = Provenance(&d.Host, &s.part.Provenance)
		}
		if len(s.rows) == 0 {
			f.Notes = append(f.Notes, "n/s: "+b.Name+": the document has no offered load of it.")
		}
		for _, p := range by(s, func(r *document.Row) int { return r.Payload }) {
			best := highestRung(p)
			if best == nil {
				f.Notes = append(f.Notes, "n/s: "+b.Name+", "+quantity.Size(float64(p.rows[0].Payload))+": "+p.account()+".")
				continue
			}
			name := b.Name + ", " + label(&best.Cell, []field{payload, consumers, offered})
			body.rows = append(body.rows, bar{label: name, readings: quantiles(best.Load.Latency), value: p99(best)})
			for _, v := range quantiles(best.Load.Latency) {
				values = append(values, v.mid)
			}
			f.Table.Rows = append(f.Table.Rows, append([]string{name}, latencyCells(best)...))
		}
	}
	if len(values) == 0 {
		f.Refusal = "No backend has a rung that was sustained, so there is no latency to show. " +
			strings.ReplaceAll(strings.Join(f.Notes, " "), "n/s: ", "")
		return []Figure{f}
	}
	body.x = valueAxis("latency; the number is the p99", quantity.Duration, values)
	f.body = body
	return []Figure{f}
}

// highestRung is the rung of the fewest consumers that sustained any, at the highest rate that they sustained.
func highestRung(s selection) *document.Row {
	var best *document.Row
	for _, r := range s.rows {
		if !measured(r) {
			continue
		}
		if best == nil || r.Consumers < best.Consumers || r.Consumers == best.Consumers && r.Rate > best.Rate {
			best = r
		}
	}
	return best
}

// account says of each rung why it has no percentiles.
func (s selection) account() string {
	words := make([]string, 0, len(s.rows))
	for _, r := range s.rows {
		name := label(&r.Cell, []field{consumers, offered})
		if r.NotShown != nil || r.Load == nil {
			words = append(words, name+": "+Reason(cmp.Or(r.NotShown, &document.Reason{Code: document.NotMeasured})))
			continue
		}
		if r.Load.Withheld != nil {
			words = append(words, name+": "+Reason(r.Load.Withheld))
			continue
		}
		words = append(words, fmt.Sprintf("%s: reached %s, at most %s waiting", name, reachedShare(r), quantity.Whole(float64(r.Load.PeakLag))))
	}
	return strings.Join(words, "; ")
}

func quantiles(q *document.Quantiles) []reading {
	values := []int64{q.P50, q.P95, q.P99, q.P999, q.Max}
	readings := make([]reading, 0, len(values))
	for i, v := range values {
		ns := float64(v)
		readings = append(readings, reading{ns, ns, ns, i})
	}
	return readings
}

func p99(r *document.Row) string { return quantity.Duration(float64(r.Load.Latency.P99)) }

func latencyCells(r *document.Row) []string {
	cells := make([]string, 0, 6)
	for _, v := range quantiles(r.Load.Latency) {
		cells = append(cells, quantity.Duration(v.mid))
	}
	return append(cells, lateness(r))
}

func lateness(r *document.Row) string {
	if r.Load.Lateness == nil {
		return "unknown"
	}
	return quantity.Duration(float64(r.Load.Lateness.P99))
}

// latencyByRate has a chart for each payload of a backend: percentiles over the ladder of rates, of the fewest consumers.
func latencyByRate(d *document.Document, b *document.Backend) []Figure {
	var figures []Figure
	for _, s := range by(rungs(d, b), func(r *document.Row) int { return r.Payload }) {
		few := slices.MinFunc(s.rows, func(a, b *document.Row) int { return a.Consumers - b.Consumers }).Consumers
		s = s.where(func(r *document.Row) bool { return r.Consumers == few })
		bytes := s.rows[0].Payload
		_, alike := differing(s.cells(), offered)
		f := s.figure("latency", fmt.Sprintf("%s-latency-%d", b.Name, bytes),
			b.Name+": dispatch latency by offered rate, "+quantity.Size(float64(bytes)), []field{offered}, alike)
		f.Sub = sentence(f.Sub, "From the intended time of the send; only rates that were sustained.")
		figures = append(figures, s.ladder(f))
	}
	return figures
}

// ladder fills in a figure of percentiles over rates.
func (s selection) ladder(f Figure) Figure {
	f.Table = Table{Head: []string{"rate", "reached", "p50", "p95", "p99", "p99.9", "longest", "pacer late, p99"}}
	names := []string{"p50", "p95", "p99", "p99.9", "longest"}
	all := make([]series, len(names))
	var values, turns []float64
	for _, r := range s.rows {
		turn := float64(r.Rate)
		if !measured(r) {
			if r.Load != nil && r.NotShown == nil {
				f.Notes = append(f.Notes, "n/s: "+offered.word(&r.Cell)+": "+withheld(r.Load))
			}
			f.Table.Rows = append(f.Table.Rows, []string{
				offered.word(&r.Cell), reachedShare(r), "n/s", "n/s", "n/s", "n/s", "n/s", "n/s",
			})
			continue
		}
		turns = append(turns, turn)
		for i, v := range quantiles(r.Load.Latency) {
			all[i].points = append(all[i].points, point{turn, v.mid, v.mid, v.mid})
			values = append(values, v.mid)
		}
		f.Table.Rows = append(f.Table.Rows, append([]string{offered.word(&r.Cell), reachedShare(r)}, latencyCells(r)...))
	}
	if len(values) == 0 {
		f.Refusal = "No rate was sustained: percentiles of a load that is not sustained are those of a backlog, and withheld."
		return f
	}
	for i := range all {
		all[i].label, all[i].colour = names[i], i
	}
	f.body = &lines{
		x: leverAxis(byRate.title, byRate.unit, turns), y: valueAxis("latency", quantity.Duration, values), series: all,
	}
	return f
}

// reachedShare is how much of the rate the producer reached.
func reachedShare(r *document.Row) string {
	if r.Load == nil {
		return "n/s"
	}
	return strconv.FormatFloat(r.Load.Reached*100, 'f', 1, 64) + " %"
}
