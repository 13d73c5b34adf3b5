package codecost

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/progress"
)

// plan tells the meter what is going to be counted. The nil meter is silent.
func plan(meter progress.Meter, o Options, scenarios []Scenario) {
	if meter == nil {
		return
	}
	var steps []progress.Step
	for _, s := range scenarios {
		if s.Missing == "" {
			steps = append(steps, progress.Step{Name: s.Name, Expected: expectedRun * time.Duration(o.Runs)})
		}
	}
	meter.Plan(steps)
}

func begin(meter progress.Meter, name string) {
	if meter != nil {
		meter.Begin(name)
	}
}

func end(meter progress.Meter, row document.Row) {
	if meter == nil {
		return
	}
	row = derived([]document.Row{row})[0]
	switch {
	case row.NotShown != nil:
		meter.End(row.NotShown.Text)
	default:
		meter.End(fmt.Sprintf("%s instructions, %.3f allocations", instructions(row.Code), row.Code.Allocations))
	}
}

// none stands for what was not counted.
const none = "-"

// hasInstructions says whether instructions were counted, and not allocations alone.
func hasInstructions(c *document.Code) bool { return c.Runs[0].Instr2N > 0 }

func instructions(c *document.Code) string {
	if !hasInstructions(c) {
		return none
	}
	return fmt.Sprintf("%.1f", c.Instructions)
}

// Print writes rows as a table, beside what they were before where there is such a row; before may be nil.
func Print(w io.Writer, rows, before []document.Row) {
	before = derived(before)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "scenario\tinstructions\t± %\tbefore\tmore than\t\tallocations\tbytes\tcold instructions\t")
	for _, r := range derived(rows) {
		if r.Code == nil {
			fmt.Fprintf(t, "%s\t%s: %s\t\t\t\t\t\t\t\t\n", r.Flow, r.NotShown.Code, r.NotShown.Text)
			continue
		}
		was, over, more := "", "", ""
		if i := slices.IndexFunc(before, func(o document.Row) bool { return o.Cell == r.Cell && o.Code != nil }); i >= 0 {
			was = instructions(before[i].Code)
		}
		spread, cold := none, none
		if hasInstructions(r.Code) {
			spread, cold = fmt.Sprintf("%.2f", 100*r.Code.Spread), strconv.FormatInt(r.Code.Runs[0].ColdInstr, 10)
			if r.Code.More != nil {
				over, more = r.Code.Over, fmt.Sprintf("%+.1f", *r.Code.More)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%.4f\t%.1f\t%s\t\n", r.Flow, instructions(r.Code), spread, was, over, more,
			r.Code.Allocations, r.Code.Bytes, cold)
	}
	_ = t.Flush()
}
