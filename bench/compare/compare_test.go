package compare

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

func host() document.Host {
	return document.Host{CPU: "Example CPU", Architecture: "amd64", LogicalCores: 2, MemorySpeed: "unknown", OS: "Linux", Kernel: "6.8"}
}

func cell(flow string) document.Cell {
	return document.Cell{Subject: "wherry", Flow: flow, Payload: 64, Consumers: 1, Handler: "zero", Codec: "json", Procs: 2}
}

// timed is a row of eight runs, each of which took so many times as long as it did in another document.
func timed(flow string, times float64) document.Row {
	r := document.Row{Cell: cell(flow), Method: document.Live}
	for i := range int64(8) {
		elapsed := int64(times * float64(1_000_000_000+i*1_000_000))
		r.Runs = append(r.Runs, document.Run{
			Round: int(i), Messages: 1000, ElapsedNS: elapsed, CPUNS: 1_000_000 + i, PeakRSS: 1,
			Ledger: document.Ledger{Published: 1000, Handled: 1000},
		})
	}
	return r
}

func counted(flow string, instructions int64) document.Row {
	c := &document.Code{}
	for range 7 {
		c.Runs = append(c.Runs, document.CodeRun{N: 1000, InstrN: 5000, Instr2N: 5000 + instructions*1000})
	}
	return document.Row{Cell: cell(flow), Method: document.Count, Code: c}
}

func results(t *testing.T, host document.Host, rows ...document.Row) *document.Document {
	t.Helper()
	d := document.New(host)
	provenance := document.Provenance{
		Version: "(devel)", Commit: "a61c723", Date: "2026-12-01T05:00:00Z", Go: "go1.26.8", GOMAXPROCS: 2, BuildFlags: "none",
		Codec: "none", Valgrind: "none", Client: "none", Broker: "mem", Durability: "none",
	}
	if err := d.Merge(host, "mem", document.MatrixPart, &document.Part{Provenance: provenance, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

// find is the line of a figure of a flow, or nil.
func find(lines []Line, flow string, figure Figure) *Line {
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Cell.Flow == flow && l.Figure == figure })
	if i < 0 {
		return nil
	}
	return &lines[i]
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	failed := document.Row{
		Cell: cell("batch"), Method: document.Live, NotShown: &document.Reason{Code: document.Failed, Text: "lost 1 of 1,000"},
	}
	before := results(t, host(), timed("slower", 1), timed("same", 1), counted("count", 700), timed("batch", 1), timed("old", 1))
	after := results(t, host(), timed("new", 1), timed("slower", 1.25), failed, counted("count", 714), timed("same", 1.0001))
	lines, err := Documents(before, after)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		flow    string
		figure  Figure
		delta   string
		chance  bool
		missing string
	}{
		{flow: "slower", figure: Rate, delta: "-20.00%"},
		{flow: "slower", figure: CPU, delta: "~", chance: true},
		{flow: "same", figure: Rate, delta: "~", chance: true},
		{flow: "count", figure: Instructions, delta: "+2.00%"},
		{flow: "count", figure: Allocations, delta: "~", chance: true},
		{flow: "batch", figure: Rate, missing: "new: failed, lost 1 of 1,000"},
		{flow: "old", figure: Rate, missing: "only in the old document"},
		{flow: "new", figure: Rate, missing: "only in the new document"},
	} {
		l := find(lines, want.flow, want.figure)
		if l == nil {
			t.Errorf("there is no line for %s of %s", want.figure, want.flow)
			continue
		}
		if l.Delta != want.delta || l.Missing != want.missing || want.missing == "" && (l.P > 0.05) != want.chance {
			t.Errorf("%s of %s: %+v, want %q %q", want.figure, want.flow, *l, want.delta, want.missing)
		}
		if l.Backend != "mem" || l.Part != document.MatrixPart {
			t.Errorf("%s is of %s %s", want.flow, l.Backend, l.Part)
		}
	}
	if l := find(lines, "count", Instructions); l.Old.Median != 700 || l.New.Median != 714 || l.Old.N != 7 {
		t.Errorf("the medians of the count: %+v, %+v", *l.Old, *l.New)
	}
}

// TestOtherMethod has the same cell drained in one document and live in the other.
func TestOtherMethod(t *testing.T) {
	t.Parallel()
	drained := timed("parallel", 1)
	drained.Method = document.Drain
	lines, err := Documents(results(t, host(), drained), results(t, host(), timed("parallel", 1)))
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1 || lines[0].Missing != "measured as drain and as live" || lines[0].Delta != "" {
		t.Errorf("%+v, want no comparison", lines)
	}
}

func TestFewRuns(t *testing.T) {
	t.Parallel()
	row := timed("parallel", 1)
	row.Runs = row.Runs[:3]
	d := results(t, host(), row)
	lines, err := Documents(d, d)
	if err != nil {
		t.Fatal(err)
	}
	if l := find(lines, "parallel", Rate); l.Delta != "" || !l.TooFew || !strings.Contains(strings.Join(l.Warnings, "\n"), "samples") {
		t.Errorf("%+v, want a warning of few samples", *l)
	}
	for _, c := range []struct {
		old, fresh int
		want       bool
	}{{1, 1, true}, {3, 3, true}, {3, 4, true}, {2, 9, false}, {3, 5, false}, {4, 4, false}, {8, 8, false}} {
		if got := tooFew(c.old, c.fresh); got != c.want {
			t.Errorf("%d and %d runs are too few: %v", c.old, c.fresh, got)
		}
	}
}

func TestOtherHost(t *testing.T) {
	t.Parallel()
	other := host()
	other.Kernel = "6.9"
	_, err := Documents(results(t, host(), timed("a", 1)), results(t, other, timed("a", 1)))
	if _, ok := errors.AsType[*document.RefusedError](err); !ok || !strings.Contains(err.Error(), "kernel: 6.9") {
		t.Errorf("documents of different hosts: %v", err)
	}
}

// TestLoadsAreNamed: what is not compared is not left out without a word.
func TestLoadsAreNamed(t *testing.T) {
	t.Parallel()
	load := func(reason *document.Reason) *document.Row {
		r := &document.Row{Cell: cell("parallel"), Method: document.Offered, NotShown: reason}
		r.Rate = 500
		return r
	}
	none := &document.Reason{Code: document.NotMeasured, Text: document.Interrupted}
	for name, test := range map[string]struct {
		old, fresh *document.Row
		want       int
	}{"both": {load(nil), load(nil), 1}, "one": {load(none), load(nil), 1}, "the old": {load(nil), nil, 1}, "none": {load(none), load(none), 0}} {
		lines := figures(test.old, test.fresh)
		if len(lines) != test.want || len(lines) > 0 && (lines[0].Missing != NotCompared || lines[0].Cell.Rate != 500) {
			t.Errorf("%s: %+v", name, lines)
		}
	}
}
