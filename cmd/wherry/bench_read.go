package main

import (
	"context"
	"fmt"
	"io"

	"github.com/wherryhq/wherry/bench/compare"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/terminal"
)

// benchShowCommand writes tables.
type benchShowCommand struct {
	File string `arg:"" help:"The results document." default:"results.json"`
}

func (c *benchShowCommand) run(_ context.Context, s streams) int {
	d, err := readResults(c.File)
	if err != nil {
		return fail(s, err)
	}
	return s.print(func(w io.Writer) { terminal.Show(w, d) })
}

// benchCheckCommand names what is wrong.
type benchCheckCommand struct {
	File string `arg:"" help:"The results document." default:"results.json"`
}

// Help is shown below the flags' summary.
func (*benchCheckCommand) Help() string {
	return `Rates, ratios, verdicts and all else that follows from other values is derived again, and facts are held against
their seals. Each wrong value is a line: where it stands, as backends[0].matrix.rows[12].summary.median, and
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
		fmt.Fprintf(w, "%s is valid: %d rows, %d of them without a value, with a reason\n", c.File, rows, silent)
	})
}

// benchCompareCommand tells differences from chance.
type benchCompareCommand struct {
	Old string `arg:"" help:"The results document to compare with."`
	New string `arg:"" help:"The results document that is compared."`
}

// Help is shown below the flags' summary.
func (*benchCompareCommand) Help() string {
	return `Medians over the runs of each cell, the change, and the p-value of the Mann-Whitney U test, as benchstat has them:
"~" stands where the difference may be chance. Documents of different hosts are refused.`
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
	return s.print(func(w io.Writer) { terminal.Comparison(w, lines) })
}
