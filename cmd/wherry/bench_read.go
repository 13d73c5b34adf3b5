package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/wherryhq/wherry/bench/compare"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
	"github.com/wherryhq/wherry/bench/terminal"
)

// benchShowCommand writes tables.
type benchShowCommand struct {
	File string `arg:"" help:"The results document. Default results.json." default:"results.json"`
	Only string `help:"Show these cells only, such as 'flow=parallel payload=64 consumers=1,2'." placeholder:"WHICH"`
}

func (c *benchShowCommand) run(_ context.Context, s streams) int {
	d, err := readResults(c.File)
	if err != nil {
		return fail(s, err)
	}
	if c.Only != "" {
		if err := onlyRows(d, c.Only); err != nil {
			return misuse(s, err)
		}
	}
	return s.print(func(w io.Writer) { terminal.Show(w, d) })
}

// onlyRows leaves the rows of a document that a filter names, and the ratios between them. It is a document to look at then.
func onlyRows(d *document.Document, filter string) error {
	var specs []matrix.Spec
	each := func(do func(p *document.Part)) {
		for i := range d.Backends {
			for _, name := range document.PartNames() {
				if p := d.Backends[i].Part(name); p != nil {
					do(p)
				}
			}
		}
	}
	each(func(p *document.Part) {
		for i := range p.Rows {
			specs = append(specs, matrix.Spec{Cell: p.Rows[i].Cell, Method: p.Rows[i].Method})
		}
	})
	left, err := matrix.Only(specs, filter)
	if err != nil {
		return err
	}
	each(func(p *document.Part) {
		p.Rows = slices.DeleteFunc(p.Rows, func(r document.Row) bool {
			return !contains(left, matrix.Spec{Cell: r.Cell, Method: r.Method})
		})
		p.Ratios = slices.DeleteFunc(p.Ratios, func(r document.Ratio) bool { return p.Row(r.Of) == nil || p.Row(r.To) == nil })
	})
	return nil
}

// benchCheckCommand names what is wrong.
type benchCheckCommand struct {
	File string `arg:"" help:"The results document. Default results.json." default:"results.json"`
}

// Help is shown below the flags' summary.
func (*benchCheckCommand) Help() string {
	return `Rates, ratios, verdicts and all else that follows from other values is derived again, and facts are held against
their seals. A seal is a checksum that stands beside what was measured: one that does not fit means that a figure was
changed after the run, and the run has to be made again. Each wrong value is a line: where it stands, as backends[0].matrix.rows[12].summary.median, and
what is wrong with it. The exit status is then 1.`
}

func (c *benchCheckCommand) run(_ context.Context, s streams) int {
	d, err := readResults(c.File)
	if err != nil {
		return fail(s, err)
	}
	rows, silent := 0, 0
	for i := range d.Backends {
		for _, name := range document.PartNames() {
			part := d.Backends[i].Part(name)
			if part == nil {
				continue
			}
			rows, silent = rows+len(part.Rows), silent+without(part.Rows)
		}
	}
	return s.print(func(w io.Writer) {
		fmt.Fprintf(w, "%s is valid: %s\n", c.File, rowsWithout(rows, silent))
	})
}

// rowsWithout counts rows, and those without a value.
func rowsWithout(rows, silent int) string {
	text := quantity.Count(rows, "row")
	switch silent {
	case 0:
		return text + ", each with a value"
	case 1:
		return text + ", 1 of them without a value, for a reason that it gives"
	default:
		return fmt.Sprintf("%s, %d of them without a value, for reasons that they give", text, silent)
	}
}

// benchCompareCommand tells differences from chance.
type benchCompareCommand struct {
	Old string `arg:"" help:"The results document to compare with."`
	New string `arg:"" help:"The results document that is compared."`
}

// Help is shown below the flags' summary.
func (*benchCompareCommand) Help() string {
	return `Medians over the runs of each cell, the change, and the p-value of the Mann-Whitney U test, as benchstat has them:
"~" stands where the difference may be chance. A cell needs at least 4 runs in each document to be compared, and 6 for
an interval; most cells of the matrix have 3, those of code have 7. Documents of different hosts are refused.`
}

func (c *benchCompareCommand) run(_ context.Context, s streams) int {
	before, err := readResults(c.Old)
	if err != nil {
		return fail(s, err)
	}
	after, err := readResults(c.New)
	if err != nil {
		return fail(s, err)
	}
	lines, err := compare.Documents(before, after)
	if err != nil {
		return fail(s, fmt.Errorf("%s and %s cannot be compared: %w", c.Old, c.New, err))
	}
	return s.print(func(w io.Writer) {
		for _, of := range []struct {
			name string
			*document.Document
		}{{c.Old, before}, {c.New, after}} {
			for _, part := range quickParts(of.Document) {
				fmt.Fprintf(w, "%s: %s is a quick run, whose figures are no results.\n", of.name, part)
			}
		}
		terminal.Comparison(w, lines)
	})
}

// quickParts are the parts of a document that are quick runs.
func quickParts(d *document.Document) []string {
	var quick []string
	for i := range d.Backends {
		b := &d.Backends[i]
		for _, name := range document.PartNames() {
			if part := b.Part(name); part != nil && part.Provenance.Quick {
				quick = append(quick, b.Name+"/"+name)
			}
		}
	}
	return quick
}
