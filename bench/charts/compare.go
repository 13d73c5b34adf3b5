package charts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// A lever is what the horizontal axis of a chart turns.
type lever struct {
	field field
	title string
	unit  func(float64) string
	of    func(*document.Cell) int
}

var (
	byConsumers = lever{consumers, "consumers", quantity.Whole, func(c *document.Cell) int { return c.Consumers }}
	// In the flows that only publish, the cell's consumers are publishers.
	byPublishers = lever{consumers, "publishers at once", quantity.Whole, byConsumers.of}
	byPayload    = lever{payload, "payload", quantity.Size, func(c *document.Cell) int { return c.Payload }}
	byPrefetch   = lever{prefetch, "prefetch", quantity.Whole, func(c *document.Cell) int { return c.Prefetch }}
	byRate       = lever{offered, "messages offered per second", quantity.Rate, func(c *document.Cell) int { return c.Rate }}
)

// figure begins a figure about a selection: its caption, its notes, and in the line below the title what all cells have in
// common.
func (s selection) figure(family, name, title string, differ, alike []field) Figure {
	f := Figure{Family: family, Name: name, Title: title, Sub: s.common(alike)}
	if s.part != nil {
		f.Caption = Provenance(&s.doc.Host, &s.part.Provenance)
	}
	f.Notes = s.notes(differ)
	if len(s.rows) == 0 {
		f.Refusal = "The document has no row for this chart."
	}
	return f
}

// common says what all cells have in common.
func (s selection) common(alike []field) string {
	if len(s.rows) == 0 {
		return ""
	}
	text := label(&s.rows[0].Cell, without(alike, subject, flow))
	if text == "" {
		return ""
	}
	return "Every cell: " + text + "."
}

func without(fields []field, leave ...field) []field {
	return slices.DeleteFunc(slices.Clone(fields), func(f field) bool { return slices.Contains(leave, f) })
}

// rates draws the rates of a selection over a lever: a line for each series, whose points are medians with their range
// from worst to best.
func (s selection) rates(family, name, title string, l lever) Figure {
	differ, alike := differing(s.cells(), l.field)
	f := s.figure(family, name, title, append(slices.Clone(differ), l.field), alike)
	f.Sub = sentence(f.Sub, "Median of the runs, with their range.")
	f.Table = s.rateTable(append(slices.Clone(differ), l.field))
	var all []series
	var values, turns []float64
	for _, group := range by(s, func(r *document.Row) string { return label(&r.Cell, differ) }) {
		one := series{label: seriesLabel(&group.rows[0].Cell, differ), colour: len(all)}
		for _, r := range group.rows {
			if r.Summary == nil || r.NotShown != nil {
				continue
			}
			p := point{float64(l.of(&r.Cell)), r.Summary.Worst, r.Summary.Median, r.Summary.Best}
			one.points = append(one.points, p)
			values, turns = append(values, p.low, p.high), append(turns, p.x)
		}
		if len(one.points) > 0 {
			slices.SortStableFunc(one.points, func(a, b point) int { return int(a.x - b.x) })
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return f.refused(s)
	}
	f.body = &lines{
		x:      leverAxis(l.title, l.unit, turns),
		y:      valueAxis("messages per second", quantity.Rate, values),
		series: all,
	}
	return f
}

// seriesLabel is the label of a line or a bar, which names at least something. The default codec goes without saying.
func seriesLabel(c *document.Cell, differ []field) string {
	short := differ
	if c.Codec == matrix.JSON {
		short = without(differ, codec)
	}
	return cmp.Or(label(c, short), label(c, differ), label(c, []field{subject, flow}))
}

// refused turns a figure whose cells have no value into a refusal.
func (f Figure) refused(s selection) Figure {
	if f.Refusal == "" {
		f.Refusal = s.why()
	}
	return f
}

func sentence(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
}

// rateTable is the table of a chart of rates: a row for each cell, named by the fields in which cells differ.
func (s selection) rateTable(fields []field) Table {
	t := Table{Head: []string{"cell", "worst, msg/s", "median, msg/s", "best, msg/s", "CPU per message", "peak memory", "runs"}}
	for _, r := range s.rows {
		name := label(&r.Cell, fields)
		if name == "" {
			name = label(&r.Cell, []field{subject, flow})
		}
		if r.Summary == nil || r.NotShown != nil {
			t.Rows = append(t.Rows, []string{name, "n/s", "n/s", "n/s", "n/s", "n/s", "n/s"})
			continue
		}
		t.Rows = append(t.Rows, []string{
			name, quantity.Rate(r.Summary.Worst), quantity.Rate(r.Summary.Median), quantity.Rate(r.Summary.Best),
			quantity.Duration(r.Summary.CPU), quantity.Size(float64(r.Summary.PeakRSS)), quantity.Whole(float64(len(r.Runs))),
		})
	}
	return t
}

// levels draws the rates of a selection that turns no lever: a row for each cell, as it is named.
func (s selection) levels(family, name, title string, named func(*document.Cell) string) Figure {
	differ, alike := differing(s.cells())
	f := s.figure(family, name, title, differ, alike)
	f.Sub = sentence(f.Sub, "Median of the runs, with their range.")
	f.Table = s.rateTable(differ)
	b := &bars{}
	var values []float64
	for _, r := range s.rows {
		if r.Summary == nil || r.NotShown != nil {
			continue
		}
		v := reading{low: r.Summary.Worst, mid: r.Summary.Median, high: r.Summary.Best, series: 1}
		if r.Subject == matrix.Wherry {
			v.series = wherryColour
		}
		values = append(values, v.low, v.high)
		b.rows = append(b.rows, bar{
			label: named(&r.Cell), strong: r.Subject == matrix.Wherry, readings: []reading{v},
			value: quantity.Rate(v.mid),
		})
	}
	if len(values) == 0 {
		return f.refused(s)
	}
	b.x = valueAxis("messages per second", quantity.Rate, values)
	b.filled = !b.x.log
	f.body = b
	return f
}
