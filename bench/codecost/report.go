package codecost

import (
	"fmt"
	"io"
	"slices"
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
		meter.End(fmt.Sprintf("%.1f instructions, %.3f allocations", row.Code.Instructions, row.Code.Allocations))
	}
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
			was = fmt.Sprintf("%.1f", before[i].Code.Instructions)
		}
		if r.Code.More != nil {
			over, more = r.Code.Over, fmt.Sprintf("%+.1f", *r.Code.More)
		}
		fmt.Fprintf(t, "%s\t%.1f\t%.2f\t%s\t%s\t%s\t%.4f\t%.1f\t%d\t\n", r.Flow, r.Code.Instructions, 100*r.Code.Spread, was, over, more,
			r.Code.Allocations, r.Code.Bytes, r.Code.Runs[0].ColdInstr)
	}
	_ = t.Flush()
}
