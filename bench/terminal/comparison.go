package terminal

import (
	"fmt"
	"io"
	"math"

	"github.com/wherryhq/wherry/bench/compare"
	"github.com/wherryhq/wherry/bench/quantity"
)

// Comparison writes what two documents differ in: medians with the half of their intervals, the change, and how likely it
// is by chance.
func Comparison(w io.Writer, lines []compare.Line) {
	var missing []compare.Line
	warnings := map[string]int{}
	var order []string
	g := grid{headers: []string{"part", "cell", "figure", "old", "new", "change", "statistics"}, texts: 3}
	for _, l := range lines {
		if l.Missing != "" {
			missing = append(missing, l)
			continue
		}
		g.rows = append(g.rows, []string{
			l.Backend + " " + l.Part, string(l.Method) + " " + l.Cell.String(), string(l.Figure), sample(l.Figure, l.Old), sample(l.Figure, l.New),
			l.Delta, fmt.Sprintf("p=%.3f n=%d+%d", l.P, l.Old.N, l.New.N),
		})
		for _, warning := range l.Warnings {
			if warnings[warning]++; warnings[warning] == 1 {
				order = append(order, warning)
			}
		}
	}
	if len(g.rows) > 0 {
		g.write(w)
	} else {
		fmt.Fprintln(w, "The documents have no value in common.")
	}
	for _, l := range missing {
		fmt.Fprintf(w, "%s %s %s %s: %s\n", l.Backend, l.Part, l.Method, l.Cell, l.Missing)
	}
	for _, warning := range order {
		fmt.Fprintf(w, "in %d of %d lines: %s\n", warnings[warning], len(lines)-len(missing), warning)
	}
}

func sample(figure compare.Figure, s *compare.Sample) string {
	if s.Median == 0 {
		return "0"
	}
	write := quantity.Number
	if figure == compare.Rate {
		write = quantity.Rate
	}
	if math.IsInf(s.Low, 0) || math.IsInf(s.High, 0) {
		return write(s.Median) + " ±∞"
	}
	half := max(s.High-s.Median, s.Median-s.Low) / s.Median
	return write(s.Median) + " ±" + quantity.Number(half*100) + " %"
}
