package page

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

//go:embed *.tmpl
var sources embed.FS

var templates = template.Must(template.ParseFS(sources, "*.tmpl"))

// facts are what templates may show.
type facts struct {
	Absent     string
	Folder     string
	Charts     string
	Source     string
	LiveBound  string        // messages that wait at most in a live row
	Slice      time.Duration // of a drain, what one window is meant to last
	Shortest   time.Duration // that is a result
	Backends   []backendFacts
	Deviations string
	Harness    string
	Refused    string
	Reasons    string
}

type backendFacts struct {
	Name  string
	Cells string // a table of the pinned cells
	Times string // how long a run takes
}

// prose makes a page of a template.
func prose(name string) func(*content) (string, error) {
	return func(c *content) (string, error) {
		f := facts{
			Absent: c.absent, Folder: Folder, Charts: Charts, Source: Source, Slice: matrix.Slice, Shortest: matrix.Shortest,
		}
		// The in-process backend is always there, whether or not a document has it.
		mem, err := matrix.Named("mem")
		if err != nil {
			return "", err
		}
		f.LiveBound = liveBound(mem)
		f.Backends = append(f.Backends, backendFacts{Name: mem.Name, Cells: pinned(mem), Times: times(mem)})
		if c.doc != nil {
			f.Deviations, f.Harness = deviations(c.doc), harness(c.doc)
			f.Refused, f.Reasons = refused(c.doc), reasons(c.doc)
		}
		var b strings.Builder
		err = templates.ExecuteTemplate(&b, name, &f)
		return b.String(), err
	}
}

// pinned is a table of the cells of a backend: a line for each flow, with the values that its cells have.
func pinned(b matrix.Backend) string {
	t := charts.Table{
		Head: []string{
			"method", "subject", "flow", "payloads", "consumers", "handlers", "codecs", "rates, msg/s", "cells",
		},
		Words: true,
	}
	specs := append(matrix.Matrix(b), matrix.Levers(b)...)
	type key struct {
		method        document.Method
		subject, flow string
	}
	var order []key
	groups := map[key][]matrix.Spec{}
	for _, s := range specs {
		k := key{s.Method, s.Subject, s.Flow}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	for _, k := range order {
		g := groups[k]
		t.Rows = append(t.Rows, []string{
			string(k.method), charts.Subject(k.subject), strings.ReplaceAll(k.flow, "-", " "),
			values(g, func(s *matrix.Spec) string { return quantity.Size(float64(s.Payload)) }),
			values(g, func(s *matrix.Spec) string { return quantity.Whole(float64(s.Consumers)) }),
			values(g, func(s *matrix.Spec) string { return s.Handler }),
			values(g, func(s *matrix.Spec) string { return s.Codec }),
			values(g, func(s *matrix.Spec) string {
				if s.Rate == 0 {
					return ""
				}
				return quantity.Whole(float64(s.Rate))
			}),
			quantity.Whole(float64(len(g))),
		})
	}
	return markdown(&t)
}

// liveBound is how many messages wait at most in the live rows of a backend.
func liveBound(b matrix.Backend) string {
	for _, s := range matrix.Matrix(b) {
		if s.Method == document.Live && s.Bound > 0 {
			return quantity.Whole(float64(s.Bound))
		}
	}
	return "an unknown number of"
}

// values are the different values of specs, in the order in which they occur.
func values(specs []matrix.Spec, of func(*matrix.Spec) string) string {
	var all []string
	for i := range specs {
		if v := of(&specs[i]); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return strings.Join(all, ", ")
}

// times says how long the parts of a backend take.
func times(b matrix.Backend) string {
	cells, levers := matrix.Matrix(b), matrix.Levers(b)
	return fmt.Sprintf("%s: the matrix has %d cells and takes about %s, the levers have %d and take about %s. Both are expected times, "+
		"made from the pinned windows and rounds.\n", b.Name, len(cells), minutes(matrix.Expected(cells)), len(levers),
		minutes(matrix.Expected(levers)))
}

func minutes(d time.Duration) string {
	n := int((d + time.Minute - 1) / time.Minute)
	if n == 1 {
		return "a minute"
	}
	return fmt.Sprintf("%d minutes", n)
}

// deviations are the notes of rows, each with how many rows have it.
func deviations(d *document.Document) string {
	var order []string
	counts := map[string]int{}
	for _, p := range parts(d) {
		for i := range p.Rows {
			for _, note := range p.Rows[i].Notes {
				if _, ok := document.RunsNote(note); ok {
					continue // It is a result, and stands with its row.
				}
				key := p.backend + ": " + note
				if counts[key] == 0 {
					order = append(order, key)
				}
				counts[key]++
			}
		}
	}
	if len(order) == 0 {
		return "None.\n"
	}
	var b strings.Builder
	for _, key := range order {
		fmt.Fprintf(&b, "- %s (%s).\n", escaped(key), quantity.Count(counts[key], "row"))
	}
	return b.String()
}

// harness says what the benchmark itself adds to a message.
func harness(d *document.Document) string {
	var b strings.Builder
	for _, p := range parts(d) {
		for i := range p.Rows {
			r := &p.Rows[i]
			if r.Subject != matrix.Harness {
				continue
			}
			name := strings.TrimSuffix("a note in the ledger, "+r.Variant, ", ")
			if r.Summary == nil || r.Summary.Worst <= 0 {
				fmt.Fprintf(&b, "- %s: %s has no value.\n", p.backend, name)
				continue
			}
			low, high := 1e9/r.Summary.Best, 1e9/r.Summary.Worst
			fmt.Fprintf(&b, "- %s: %s takes %s. Of a message that takes 1 µs that is at most %s.%s\n", p.backend, name,
				quantity.Span(low, high, quantity.Duration), percent(quantity.Up(high/1000)), ofFastest(p, r))
		}
	}
	if b.Len() == 0 {
		return "The document has no row of what the harness adds to an empty loop.\n"
	}
	return b.String()
}

// ofFastest says what a note in the ledger is of the row that takes the shortest time.
func ofFastest(p part, note *document.Row) string {
	if note.Variant != "" {
		return ""
	}
	var fastest *document.Row
	for i := range p.Rows {
		r := &p.Rows[i]
		if noted(r) && (fastest == nil || r.Summary.Median > fastest.Summary.Median) {
			fastest = r
		}
	}
	if fastest == nil {
		return ""
	}
	return fmt.Sprintf(" Of the fastest row of the %s, %s, it is at most %s. [Each row](rows.md) has its share.", p.name, charts.Name(&fastest.Cell),
		noteShare(note, fastest))
}

// noted reports whether the messages of a row are noted in the ledger of the harness's rows while they are timed. Those of a
// publisher are looked at afterwards.
func noted(r *document.Row) bool {
	return (r.Subject == matrix.Wherry || r.Subject == matrix.Channel) && r.Flow != matrix.Publish && r.Flow != matrix.PublishBatch &&
		r.Summary != nil && r.Summary.Median > 0
}

// noteShare is the share of a note in the time that a row takes for a message: at most, since with several consumers notes are
// made side by side.
func noteShare(note, r *document.Row) string {
	return percent(quantity.Up(r.Summary.Median/note.Summary.Worst*100) / 100)
}

// noteOf is the row of the harness that says what a note in the ledger takes, or nil.
func noteOf(p *document.Part) *document.Row {
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Subject == matrix.Harness && r.Variant == "" && r.Summary != nil && r.Summary.Worst > 0 {
			return r
		}
	}
	return nil
}

// refused are the charts that the document cannot carry, with their reasons.
func refused(d *document.Document) string {
	var b strings.Builder
	for _, f := range charts.Figures(d) {
		if f.Refusal != "" {
			fmt.Fprintf(&b, "- %s: %s\n", escaped(f.Title), escaped(f.Refusal))
		}
	}
	if b.Len() == 0 {
		return "Every chart has its data.\n"
	}
	return b.String()
}

// reasons counts the cells without a value by their reason.
func reasons(d *document.Document) string {
	t := charts.Table{Head: []string{"reason", "cells"}}
	var order []document.ReasonCode
	counts := map[document.ReasonCode]int{}
	for _, p := range parts(d) {
		for i := range p.Rows {
			if r := p.Rows[i].NotShown; r != nil {
				if counts[r.Code] == 0 {
					order = append(order, r.Code)
				}
				counts[r.Code]++
			}
		}
	}
	for _, code := range order {
		t.Rows = append(t.Rows, []string{string(code), quantity.Whole(float64(counts[code]))})
	}
	if len(t.Rows) == 0 {
		return "None: every cell has a value.\n"
	}
	return markdown(&t)
}
