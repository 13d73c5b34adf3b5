package reach

import (
	"fmt"
	"slices"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// find is the first row of a part that suits, or nil.
func find(p *document.Part, suits func(*document.Row) bool) *document.Row {
	if p == nil {
		return nil
	}
	for i := range p.Rows {
		if suits(&p.Rows[i]) {
			return &p.Rows[i]
		}
	}
	return nil
}

// rowOf is the row of a cell, or nil.
func rowOf(p *document.Part, c document.Cell) *document.Row {
	return find(p, func(r *document.Row) bool { return r.Cell == c })
}

// why says why a row has no value.
func why(r *document.Row) string {
	switch {
	case r == nil:
		return "the document has no such row"
	case r.NotShown != nil:
		return charts.Reason(r.NotShown)
	default:
		return "its row has no value"
	}
}

// processorTime is what a row and the one it is compared with took of the processors.
func processorTime(p *document.Part, of, to document.Cell) string {
	a, b := rowOf(p, of), rowOf(p, to)
	if a == nil || b == nil || a.Summary == nil || b.Summary == nil {
		return ""
	}
	return fmt.Sprintf("CPU per message %s against %s", quantity.Duration(a.Summary.CPU), quantity.Duration(b.Summary.CPU))
}

// ratioOf is the ratio of a part that suits, or nil.
func ratioOf(p *document.Part, suits func(*document.Ratio) bool) *document.Ratio {
	if p == nil {
		return nil
	}
	i := slices.IndexFunc(p.Ratios, func(r document.Ratio) bool { return suits(&r) })
	if i < 0 {
		return nil
	}
	return &p.Ratios[i]
}

// ratioLine is a target of a ratio at a cell. Where there is none, the row that lacks its value says why.
func ratioLine(b bound, p *document.Part, cell string, r *document.Ratio, rows ...*document.Row) Line {
	if r == nil {
		for _, row := range rows {
			if row == nil || row.NotShown != nil {
				return b.missing(cell, why(row))
			}
		}
		return b.missing(cell, "the rows were not measured in turn")
	}
	from := charts.Name(&r.Of) + " over " + charts.Subject(r.To.Subject)
	return b.line(cell, value{r.Low, r.Median, r.High}, processorTime(p, r.Of, r.To), from).of(r.Interval()).doubted(p, r.Rounds)
}

func consumersOf(n int) string { return quantity.Count(n, "consumer") }

// isLive reports whether a row is the plain live row of a subject.
func isLive(r *document.Row, subject string, consumers, procs int) bool {
	return r.Method == document.Live && r.Subject == subject && r.Flow == matrix.Parallel && r.Variant == "" &&
		r.Workers == 0 && r.Consumers == consumers && r.Procs == procs
}
