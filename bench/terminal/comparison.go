package terminal

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/bench/compare"
	"github.com/wherryhq/wherry/bench/quantity"
)

// Comparison writes what two documents differ in: first what cannot be compared, then medians with the half of their intervals,
// the change, and how likely it is by chance. An interval that is not known is left out.
func Comparison(w io.Writer, lines []compare.Line) {
	var missing []compare.Line
	warnings := map[string]int{}
	var order, few []string
	tooFew, loads := 0, 0
	g := grid{headers: []string{"part", "cell", "figure", "old", "new", "change", "statistics"}, texts: 3}
	for _, l := range lines {
		switch l.Missing {
		case "":
		case compare.NotCompared:
			loads++
			continue
		default:
			missing = append(missing, l)
			continue
		}
		change, statistics := l.Delta, fmt.Sprintf("p=%.3f n=%d+%d", l.P, l.Old.N, l.New.N)
		if l.TooFew {
			tooFew++
			change, statistics = "too few runs", fmt.Sprintf("n=%d+%d", l.Old.N, l.New.N)
			if !slices.Contains(few, statistics) {
				few = append(few, statistics)
			}
		}
		g.rows = append(g.rows, []string{
			l.Backend + " " + l.Part, string(l.Method) + " " + l.Cell.String(), string(l.Figure), sample(l.Figure, l.Old), sample(l.Figure, l.New),
			change, statistics,
		})
		for _, warning := range l.Warnings {
			if warnings[warning]++; warnings[warning] == 1 {
				order = append(order, warning)
			}
		}
	}
	if tooFew > 0 {
		fmt.Fprintf(w, "%d of %s cannot be compared: of so few runs (%s) any difference may be chance. 4 in each document are enough.\n\n",
			tooFew, quantity.Count(len(g.rows), "figure"), strings.Join(few, ", "))
	}
	if len(g.rows) > 0 {
		g.write(w)
	} else {
		fmt.Fprintln(w, "The documents have no value in common.")
	}
	if loads > 0 {
		fmt.Fprintf(w, "%s not compared: a document does not have all that each of their runs came to.\n", loadsAre(loads))
	}
	for _, l := range missing {
		fmt.Fprintf(w, "%s %s %s %s: %s\n", l.Backend, l.Part, l.Method, l.Cell, l.Missing)
	}
	for _, warning := range order {
		fmt.Fprintf(w, "in %d of %s: %s\n", warnings[warning], quantity.Count(len(g.rows), "line"), warning)
	}
}

func loadsAre(n int) string {
	if n == 1 {
		return "1 offered load is"
	}
	return quantity.Count(n, "offered load") + " are"
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
		return write(s.Median)
	}
	half := max(s.High-s.Median, s.Median-s.Low) / s.Median
	return write(s.Median) + " ±" + quantity.Number(half*100) + " %"
}
