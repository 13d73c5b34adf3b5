package charts

import (
	"slices"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// A selection is rows of one part that a chart compares.
type selection struct {
	doc     *document.Document
	backend *document.Backend
	part    *document.Part
	rows    []*document.Row
}

// pick selects the rows of a part that suit. A part that is not there has none.
func pick(d *document.Document, b *document.Backend, p *document.Part, suits func(*document.Row) bool) selection {
	s := selection{doc: d, backend: b, part: p}
	if p == nil {
		return s
	}
	for i := range p.Rows {
		if suits(&p.Rows[i]) {
			s.rows = append(s.rows, &p.Rows[i])
		}
	}
	slices.SortStableFunc(s.rows, func(a, b *document.Row) int { return rank(a) - rank(b) })
	return s
}

// rank puts Wherry's own rows first.
func rank(r *document.Row) int {
	if r.Subject == matrix.Wherry {
		return 0
	}
	return 1
}

// where keeps the rows that suit.
func (s selection) where(suits func(*document.Row) bool) selection {
	kept := s
	kept.rows = nil
	for _, r := range s.rows {
		if suits(r) {
			kept.rows = append(kept.rows, r)
		}
	}
	return kept
}

// by splits a selection by a key, in the order in which keys first occur.
func by[K comparable](s selection, key func(*document.Row) K) []selection {
	var order []K
	groups := map[K]*selection{}
	for _, r := range s.rows {
		k := key(r)
		if groups[k] == nil {
			order = append(order, k)
			groups[k] = &selection{doc: s.doc, backend: s.backend, part: s.part}
		}
		groups[k].rows = append(groups[k].rows, r)
	}
	split := make([]selection, 0, len(order))
	for _, k := range order {
		split = append(split, *groups[k])
	}
	return split
}

func (s selection) cells() []*document.Cell { return cellsOf(s.rows) }

func cellsOf(rows []*document.Row) []*document.Cell {
	cells := make([]*document.Cell, 0, len(rows))
	for _, r := range rows {
		cells = append(cells, &r.Cell)
	}
	return cells
}

// distinct is how many different values a field has.
func (s selection) distinct(of func(*document.Row) int) []int {
	var values []int
	for _, r := range s.rows {
		if v := of(r); !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return values
}

// lacks are the reasons of rows without a value. Cells with the same reason share a note.
func (s selection) lacks(fields []field) []string {
	var notes []string
	missing := s.where(func(r *document.Row) bool { return r.NotShown != nil })
	for _, group := range by(missing, func(r *document.Row) string { return Reason(r.NotShown) }) {
		notes = append(notes, "n/s: "+s.joined(group, fields)+": "+Reason(group.rows[0].NotShown)+".")
	}
	return notes
}

// notes are what the selection lacks, and the deviations of the other rows, each once; what is said of one cell alone names it.
func (s selection) notes(fields []field) []string {
	notes := s.lacks(fields)
	said := map[string]int{}
	for _, r := range s.rows {
		for _, n := range r.Notes {
			said[n]++
		}
	}
	several := slices.Contains(fields, subject)
	for _, r := range s.rows {
		for _, n := range r.Notes {
			of := ""
			switch {
			case said[n] == 1 && len(s.rows) > 1:
				of = seriesLabel(&r.Cell, fields)
			case several:
				of = Subject(r.Subject)
			}
			if of != "" {
				n = of + ": " + n
			}
			if n = "Note: " + n + "."; !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		}
	}
	return notes
}

// joined names the cells of a group by the fields in which the selection differs. What is missing of a flow in every cell
// is named by the flow alone, or by the flow and its codec.
func (s selection) joined(group selection, fields []field) string {
	var names []string
	for _, whole := range [][]field{{subject, flow}, {subject, flow, codec}} {
		rest := group
		rest.rows = nil
		for _, of := range by(group, func(r *document.Row) string { return label(&r.Cell, whole) }) {
			name := label(&of.rows[0].Cell, whole)
			all := s.where(func(r *document.Row) bool { return label(&r.Cell, whole) == name })
			if len(of.rows) < len(all.rows) {
				rest.rows = append(rest.rows, of.rows...)
				continue
			}
			names = append(names, strings.TrimPrefix(name, Subject(matrix.Wherry)+", "))
		}
		group = rest
	}
	for _, r := range group.rows {
		names = append(names, seriesLabel(&r.Cell, fields))
	}
	return strings.Join(names, "; ")
}

// Reason writes why a row has no value.
func Reason(r *document.Reason) string {
	if r.Text == "" || r.Text == string(r.Code) {
		return string(r.Code)
	}
	return string(r.Code) + ", " + r.Text
}

// why is the reason that the first row without a value gives.
func (s selection) why() string {
	for _, r := range s.rows {
		if r.NotShown != nil {
			return "None of its cells has a value. The first says: " + Reason(r.NotShown) + "."
		}
	}
	return "None of its cells has a value."
}
