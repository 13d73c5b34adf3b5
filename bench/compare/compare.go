// Package compare tells whether two results documents of one host differ by more than chance. The statistics are those of
// benchstat: medians, and the Mann-Whitney U test.
package compare

import (
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/wherryhq/wherry/bench/document"
)

// confidence is that of the intervals of the medians.
const confidence = 0.95

// A Line compares one figure of one cell.
type Line struct {
	Backend string
	Part    string
	Cell    document.Cell
	Method  document.Method
	Figure  Figure
	Old     *Sample // nil where that document has no value; then Missing says why
	New     *Sample
	Missing string
	// Delta is as benchstat writes it: "+3.1%", "~" where the difference may be chance, or "?" beside a zero. It is empty
	// where a value is missing, and with TooFew.
	Delta string
	// P is the probability of such a difference by chance. Zero means that the figures are exact.
	P float64
	// TooFew is whether there are so few runs that no difference could be told from chance. Delta is empty then.
	TooFew   bool
	Warnings []string // such as too few runs
}

// A Figure is what is compared.
type Figure string

// The figures.
const (
	Rate         Figure = "msg/s"
	CPU          Figure = "CPU ns/msg"
	Instructions Figure = "instr/msg"
	Allocations  Figure = "allocs/msg"
)

// A Sample is the runs of one cell in one document.
type Sample struct {
	Median float64
	Low    float64 // of the interval of the median, with High
	High   float64
	N      int
}

// NotCompared is the [Line.Missing] of an offered load, of whose runs a document has their p99 and no more.
const NotCompared = "loads are not compared"

// Documents compares all cells that both documents have values of by runs, and names those that only one has, and loads, which
// are [NotCompared]. It refuses documents of different hosts; the error is a [document.RefusedError].
func Documents(before, after *document.Document) ([]Line, error) {
	if err := document.SameHost(before.Host, after.Host); err != nil {
		return nil, err
	}
	var lines []Line
	for _, name := range backends(before, after) {
		for _, part := range document.PartNames() {
			lines = append(lines, rows(name, part, before.Backend(name), after.Backend(name))...)
		}
	}
	return lines, nil
}

// backends are the names of those that either has, in their order.
func backends(before, after *document.Document) []string {
	var names []string
	for _, d := range []*document.Document{before, after} {
		for i := range d.Backends {
			names = append(names, d.Backends[i].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rows compares a part, which either backend may lack, in the order of the old document; new cells come last.
func rows(backend, part string, before, after *document.Backend) []Line {
	was, is := partOf(before, part), partOf(after, part)
	var lines []Line
	add := func(old, fresh *document.Row) {
		for _, line := range figures(old, fresh) {
			line.Backend, line.Part = backend, part
			lines = append(lines, line)
		}
	}
	if was != nil {
		for i := range was.Rows {
			add(&was.Rows[i], is.Row(was.Rows[i].Cell))
		}
	}
	if is != nil {
		for i := range is.Rows {
			if was.Row(is.Rows[i].Cell) == nil {
				add(nil, &is.Rows[i])
			}
		}
	}
	return lines
}

func partOf(b *document.Backend, name string) *document.Part {
	if b == nil {
		return nil
	}
	return b.Part(name)
}

// figures compares two rows of one cell, one of which may be nil.
func figures(old, fresh *document.Row) []Line {
	of := old
	if of == nil {
		of = fresh
	}
	compared := []Figure{Rate, CPU}
	switch of.Method {
	case document.Offered:
		if !hasValue(old) && !hasValue(fresh) {
			return nil
		}
		return []Line{{Cell: of.Cell, Method: of.Method, Missing: NotCompared}}
	case document.Count:
		compared = []Figure{Instructions, Allocations}
	case document.Drain, document.Live, document.Paired:
	}
	if missing := missing(old, fresh); missing != "" {
		if !hasValue(old) && !hasValue(fresh) {
			return nil
		}
		return []Line{{Cell: of.Cell, Method: of.Method, Figure: compared[0], Missing: missing}}
	}
	lines := make([]Line, 0, len(compared))
	for _, figure := range compared {
		line := compareFigure(figure, figure.values(old), figure.values(fresh))
		line.Cell, line.Method = of.Cell, of.Method
		lines = append(lines, line)
	}
	return lines
}

func hasValue(r *document.Row) bool { return r != nil && r.NotShown == nil }

// missing says which of two rows has no value, and why.
func missing(old, fresh *document.Row) string {
	switch {
	case old == nil:
		return "only in the new document"
	case fresh == nil:
		return "only in the old document"
	case old.NotShown != nil:
		return "old: " + string(old.NotShown.Code) + ", " + old.NotShown.Text
	case fresh.NotShown != nil:
		return "new: " + string(fresh.NotShown.Code) + ", " + fresh.NotShown.Text
	case old.Method != fresh.Method:
		return "measured as " + string(old.Method) + " and as " + string(fresh.Method)
	}
	return ""
}

// values are those of the runs of a row.
func (f Figure) values(r *document.Row) []float64 {
	var values []float64
	for i := range r.Runs {
		switch f {
		case Rate:
			values = append(values, r.Runs[i].Rate())
		default:
			values = append(values, float64(r.Runs[i].CPUNS)/float64(r.Runs[i].Messages))
		}
	}
	if r.Code == nil {
		return values
	}
	for _, run := range r.Code.Runs {
		slope := run.Instr2N - run.InstrN
		if f == Allocations {
			slope = run.Blocks2N - run.BlocksN
		}
		values = append(values, float64(slope)/float64(run.N))
	}
	return values
}

// compareFigure compares the values of one figure.
func compareFigure(figure Figure, old, fresh []float64) Line {
	line := Line{Figure: figure}
	a, b := benchmath.NewSample(old, &benchmath.DefaultThresholds), benchmath.NewSample(fresh, &benchmath.DefaultThresholds)
	was, is := benchmath.AssumeNothing.Summary(a, confidence), benchmath.AssumeNothing.Summary(b, confidence)
	line.Old, line.New = sample(a, was), sample(b, is)
	comparison := benchmath.AssumeNothing.Compare(a, b)
	line.P = comparison.P
	if line.TooFew = tooFew(len(old), len(fresh)); !line.TooFew {
		line.Delta = comparison.FormatDelta(line.Old.Median, line.New.Median)
	}
	for _, warning := range slices.Concat(a.Warnings, b.Warnings, comparison.Warnings, was.Warnings, is.Warnings) {
		if text := warning.Error(); !slices.Contains(line.Warnings, text) {
			line.Warnings = append(line.Warnings, text)
		}
	}
	return line
}

// tooFew reports whether even runs that are all apart would be no evidence: of all the orders in which they can come, two are so.
func tooFew(old, fresh int) bool {
	orders := 1.0
	for i := range fresh {
		orders *= float64(old+i+1) / float64(i+1)
	}
	return 2/orders > 1-confidence
}

func sample(s *benchmath.Sample, summary benchmath.Summary) *Sample {
	return &Sample{Median: summary.Center, Low: summary.Lo, High: summary.Hi, N: len(s.Values)} //nolint:misspell // The field of a library.
}
