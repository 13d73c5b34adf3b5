package page

import (
	"fmt"
	"strings"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/quantity"
	"github.com/wherryhq/wherry/bench/reach"
)

// results is the first page: every chart with its table and its notes.
func results(c *content) (string, error) {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n" +
		"What Wherry costs and how fast it goes, measured by `wherry bench` and drawn from one results document. " +
		"Read [what these numbers mean and what they do not](numbers.md) before you quote one.\n\n" +
		"- [What is to be reached](reach.md), and whether it is.\n" +
		"- [What the levers do](levers.md): which helps, up to where, and what harms.\n" +
		"- [Every row](rows.md) of the document, with the reason of each that has no value.\n" +
		"- [The method](method.md): how each number is measured, and every deviation.\n" +
		"- [The runbook](runbook.md): how to measure on your machine, and how to read a run.\n\n")
	if c.doc == nil {
		b.WriteString(c.absent + "\n")
		return b.String(), nil
	}
	fmt.Fprintf(&b, "The document is %s.%s\n\n", c.named(), warnings(c.doc))
	b.WriteString("## Where it was measured\n\n" + host(&c.doc.Host) + "\n" + provenances(c.doc) + "\n")
	b.WriteString(summary(c.doc) + "\n")
	figures := charts.Figures(c.doc)
	var undrawn []charts.Figure
	for _, family := range charts.Families() {
		var of []charts.Figure
		drawn := false
		for i := range figures {
			if figures[i].Family == family.Name {
				of = append(of, figures[i])
				drawn = drawn || figures[i].Refusal == ""
			}
		}
		if !drawn {
			undrawn = append(undrawn, of...)
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", family.Title, family.Text)
		for i := range of {
			figure(&b, &of[i])
		}
		if family.Name == "peers" {
			b.WriteString(settings(c.doc))
		}
	}
	b.WriteString(notDrawn(undrawn))
	return b.String(), nil
}

// notDrawn lists the charts of questions of which the document can answer nothing.
func notDrawn(figures []charts.Figure) string {
	if len(figures) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("## What is not drawn\n\n")
	for i := range figures {
		f := &figures[i]
		fmt.Fprintf(&b, "- [%s](%s/%s): %s\n", escaped(f.Title), Charts, f.Light(), escaped(f.Refusal))
	}
	return b.String()
}

// figure writes a chart, what is found in it, its notes and its table.
func figure(b *strings.Builder, f *charts.Figure) {
	//nolint:misspell // The media feature is called so.
	fmt.Fprintf(b, "<picture>\n  <source media=\"(prefers-color-scheme: dark)\" srcset=\"%s/%s\">\n  <img src=\"%s/%s\" width=\"800\" "+
		"alt=\"%s\">\n</picture>\n\n", Charts, f.Dark(), Charts, f.Light(), attribute(f.Alt()))
	for _, finding := range f.Findings {
		b.WriteString(finding + "\n\n")
	}
	if f.Refusal != "" {
		return
	}
	fmt.Fprintf(b, "<details><summary>The numbers: %s</summary>\n\n%s\n", attribute(f.Title), f.Table.Markdown())
	for _, note := range f.Notes {
		b.WriteString("- " + escaped(note) + "\n")
	}
	if len(f.Notes) > 0 {
		b.WriteString("\n")
	}
	b.WriteString(escaped(f.Caption) + "\n\n</details>\n\n")
}

// attribute makes a text fit for an attribute or an element of HTML.
func attribute(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// escaped makes a text fit for a line of Markdown: what would be markup is shown as it is.
func escaped(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "\n", " ").Replace(s)
}

func host(h *document.Host) string {
	t := charts.Table{Words: true, Head: []string{"host", ""}, Rows: [][]string{
		{"CPU", h.CPU + ", " + h.Architecture},
		{"frequency", known(h.FrequencyMHz, " MHz")},
		{"cores", known(h.PhysicalCores, " physical") + ", " + known(h.LogicalCores, " logical")},
		{"memory", quantity.Size(float64(h.MemoryBytes)) + ", speed " + h.MemorySpeed},
		{"system", h.OS + ", kernel " + h.Kernel},
	}}
	return markdown(&t)
}

func known(n int, unit string) string {
	if n == 0 {
		return "unknown"
	}
	return quantity.Whole(float64(n)) + unit
}

// markdown writes a table whose cells may have markup in them.
func markdown(t *charts.Table) string {
	clean := charts.Table{Head: t.Head, Words: t.Words}
	for _, row := range t.Rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			cells = append(cells, strings.ReplaceAll(escaped(cell), `\|`, "|"))
		}
		clean.Rows = append(clean.Rows, cells)
	}
	return clean.Markdown()
}

// A part is a part of a backend, with its name.
type part struct {
	backend, name string
	*document.Part
}

// parts are those that the document has, in the order of the document.
func parts(d *document.Document) []part {
	var all []part
	for i := range d.Backends {
		b := &d.Backends[i]
		for _, p := range []part{
			{b.Name, "matrix", b.Matrix},
			{b.Name, "levers", b.Levers},
			{b.Name, "code", b.Code},
			{b.Name, "peers", b.Peers},
			{b.Name, "pairs", b.Pairs},
		} {
			if p.Part != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// provenances is where the values of each part come from.
func provenances(d *document.Document) string {
	t := charts.Table{Head: []string{"part"}, Words: true}
	fields := []struct {
		name string
		of   func(*document.Provenance) string
	}{
		{"version", func(p *document.Provenance) string { return p.Version }},
		{"commit", commit},
		{"begun", func(p *document.Provenance) string { return p.Date }},
		{"Go", func(p *document.Provenance) string { return p.Go }},
		{"GOMAXPROCS", func(p *document.Provenance) string { return known(p.GOMAXPROCS, "") }},
		{"build flags", func(p *document.Provenance) string { return p.BuildFlags }},
		{"environment", environment},
		{"codec", func(p *document.Provenance) string { return p.Codec }},
		{"valgrind", func(p *document.Provenance) string { return p.Valgrind }},
		{"client", func(p *document.Provenance) string { return p.Client }},
		{"broker", func(p *document.Provenance) string { return p.Broker }},
		{"durability", func(p *document.Provenance) string { return p.Durability }},
		{"round trip", roundTrip},
	}
	all := parts(d)
	for _, p := range all {
		t.Head = append(t.Head, p.backend+" "+p.name)
	}
	for _, f := range fields {
		row := []string{f.name}
		for _, p := range all {
			row = append(row, f.of(&p.Provenance))
		}
		t.Rows = append(t.Rows, row)
	}
	return markdown(&t)
}

func commit(p *document.Provenance) string {
	c := p.Commit
	if len(c) > 10 {
		c = c[:10]
	}
	if p.Dirty {
		c += " with changes"
	}
	return c
}

func environment(p *document.Provenance) string {
	return listed(p.Environment, func(name, value string) string { return name + "=" + value })
}

func roundTrip(p *document.Provenance) string {
	if p.RoundTripNS == 0 {
		return "none"
	}
	return quantity.Duration(float64(p.RoundTripNS))
}

// warnings are what a reader must know before anything else.
func warnings(d *document.Document) string {
	var text strings.Builder
	for _, p := range parts(d) {
		if n := interrupted(p.Part); n > 0 {
			fmt.Fprintf(&text, " **The part %s of %s was interrupted: %s not measured.**", p.name, p.backend, quantity.Count(n, "cell"))
		}
		if p.Provenance.Quick {
			fmt.Fprintf(&text, " **The part %s of %s is a quick run, whose figures are no results.**", p.name, p.backend)
		}
		if p.Provenance.Dirty {
			fmt.Fprintf(&text, " The part %s of %s was measured with changes that are not in its commit.", p.name, p.backend)
		}
	}
	return text.String()
}

// interrupted is how many rows an interrupt left.
func interrupted(p *document.Part) int {
	n := 0
	for i := range p.Rows {
		if r := p.Rows[i].NotShown; r != nil && r.Code == document.NotMeasured && r.Text == document.Interrupted {
			n++
		}
	}
	return n
}

// unfit reports whether no result can come of a document: a part of it is a quick run, or was interrupted.
func unfit(d *document.Document) (quick, cut bool) {
	for _, p := range parts(d) {
		quick = quick || p.Provenance.Quick
		cut = cut || interrupted(p.Part) > 0
	}
	return quick, cut
}

// summary counts what was reached, and what has no value.
func summary(d *document.Document) string {
	counts := map[reach.Verdict]int{}
	for _, line := range reach.Lines(d) {
		counts[line.Verdict]++
	}
	text := fmt.Sprintf("Of what is [to be reached](reach.md), cell by cell, %d are reached, %d are not, %d are not decided and %d are not "+
		"measured.", counts[reach.Reached], counts[reach.NotReached], counts[reach.NotDecided], counts[reach.NotMeasured])
	shown, missing := 0, 0
	for _, p := range parts(d) {
		for i := range p.Rows {
			if p.Rows[i].NotShown != nil {
				missing++
			} else {
				shown++
			}
		}
	}
	return text + fmt.Sprintf(" The document has %d rows with values and %d without, which are written \"n/s\", for not shown, with their "+
		"[reasons](rows.md).\n", shown, missing)
}
