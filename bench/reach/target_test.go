package reach

import (
	"slices"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/charts/sample"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		goal bound
		v    value
		want Verdict
	}{
		{atLeast(1, quantity.Times), value{1, 1.1, 1.2}, Reached},
		{atLeast(1, quantity.Times), value{0.99, 1.1, 1.2}, NotDecided},
		{atLeast(1, quantity.Times), value{0.8, 0.9, 1}, NotDecided},
		{atLeast(1, quantity.Times), value{0.8, 0.9, 0.99}, NotReached},
		{atMost(700, quantity.Whole), value{699, 700, 700}, Reached},
		{atMost(700, quantity.Whole), value{699, 700, 701}, NotDecided},
		{atMost(700, quantity.Whole), value{701, 702, 703}, NotReached},
		{bound{less: true}, value{-2, -1, -0.5}, Reached},
		{bound{less: true}, value{0, 0, 0}, NotReached},
	} {
		if got := c.goal.judge(c.v); got != c.want {
			t.Errorf("%v held against %s is %s, want %s", c.v, c.goal, got, c.want)
		}
	}
}

func TestWidthIsRoundedOutward(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    value
		want string
	}{
		{value{0.9, 1, 1.1021}, "±11 %"},
		{value{-12, -10, -8}, "±20 %"},
		{value{1, 1, 1}, ""},
	} {
		if got := c.v.width(); got != c.want {
			t.Errorf("the width of %v is %q, want %q", c.v, got, c.want)
		}
	}
}

// lines are those of one target.
func lines(t *testing.T, d *document.Document, figure string) []Line {
	t.Helper()
	all := slices.DeleteFunc(Lines(d), func(l Line) bool { return l.Figure != figure })
	if len(all) == 0 {
		t.Fatalf("there is no target %q", figure)
	}
	return all
}

func TestLinesOfNothing(t *testing.T) {
	t.Parallel()
	for _, d := range []*document.Document{
		{Backends: []document.Backend{{Name: "mem"}}},
		{Backends: []document.Backend{{
			Name: "mem", Matrix: &document.Part{}, Levers: &document.Part{}, Code: &document.Part{}, Peers: &document.Part{},
		}}},
	} {
		all := Lines(d)
		for _, target := range targets {
			if !slices.ContainsFunc(all, func(l Line) bool { return l.Figure == target.figure }) {
				t.Errorf("%s: no line says that it is not measured", target.figure)
			}
		}
		for _, l := range all {
			if l.Verdict != NotMeasured || l.Value == "" || l.Bound == "" {
				t.Errorf("%s, %s: %s, %q, want not measured and a reason", l.Figure, l.Cell, l.Verdict, l.Value)
			}
		}
	}
	if all := Lines(&document.Document{}); len(all) > 0 {
		t.Errorf("a document without a backend has %d lines", len(all))
	}
}

func TestLinesOfSample(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	for _, c := range []struct {
		figure string
		want   []string // cell and verdict
	}{
		{"live, over Watermill's Router", []string{
			"1 consumer reached", "2 consumers reached", "4 consumers reached", "8 consumers reached", "32 consumers reached",
		}},
		{"live, instructions per message", []string{
			"1 consumer reached", "2 consumers not measured", "4 consumers reached", "8 consumers not measured",
			"32 consumers not measured",
		}},
		{"drain, over shove, 64 KiB", []string{
			"1 consumer reached", "2 consumers reached", "4 consumers reached", "8 consumers not measured",
		}},
		{"service, over ruststream, drained on one processor", []string{"128 B reached"}},
		{"service, over ruststream, live on two processors", []string{"128 B not measured"}},
		{"a batch over one message at a time", []string{"batch reached", "batch json reached", "batch fastjson not measured"}},
		{"dispatch latency at 100 k/s, p99 from the intended time", []string{
			"100 k/s, in the matrix not reached", "100 k/s, among the peers reached",
		}},
	} {
		var got []string
		for _, l := range lines(t, d, c.figure) {
			got = append(got, l.Cell+" "+string(l.Verdict))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.figure, got, c.want)
		}
	}
	last := lines(t, d, "drain, over shove, 64 KiB")[3]
	if want := "not measured, cargo is not installed"; last.Value != want {
		t.Errorf("where shove has no row the value is %q, want its reason %q", last.Value, want)
	}
}

// TestBounds pins what is to be reached, so that no figure is reached by a changed bound.
func TestBounds(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	for figure, want := range map[string]string{
		"live, over a Go channel, two processors":                 "≥ 1×",
		"live, over a Go channel, one processor":                  "≥ 0.9×",
		"live, the lowest rate over the best, by concurrency":     "≥ 0.9×",
		"live, the lowest rate over the best, by workers":         "≥ 0.75×",
		"live, instructions per message":                          "≤ 700, ≤ 800",
		"live, over Watermill's Router":                           "≥ 50×",
		"drain, over shove, 64 B":                                 "≥ 1.5×, ≥ 2×, ≥ 4×",
		"drain, over shove, 1 KiB":                                "≥ 1.5×, ≥ 2×, ≥ 3×",
		"drain, over shove, 64 KiB":                               "≥ 1×",
		"drain in batches, over shove, 64 B":                      "≥ 1.2×",
		"service, over ruststream, drained on one processor":      "≥ 0.85×",
		"service, over ruststream, live on two processors":        "≥ 1.5×",
		"a service over the hand loop, JSON 128 B":                "≤ 300, ≤ 0",
		"each middleware":                                         "≤ 30, ≤ 0",
		"concurrency 4 over one at a time":                        "≤ 600",
		"a batch over one message at a time":                      "< 0",
		"dispatch latency, p99 over shove's, both from the send":  "≤ 0.7×, ≤ 0.5×",
		"dispatch latency at 100 k/s, p99 from the intended time": "≤ 1 ms",
		figureSequenced:                                           "≥ 0.5×",
		figureBlocks:                                              "≤ 0",
		figurePeer:                                                "≥ 2×",
		figurePoisoned:                                            "< 5 %",
		figureFill:                                                "≥ 1×",
		figureCalls:                                               "≥ 50×",
		figureAge:                                                 "≤ 5 ms",
	} {
		var bounds []string
		for _, l := range lines(t, d, figure) {
			if !slices.Contains(bounds, l.Bound) {
				bounds = append(bounds, l.Bound)
			}
		}
		if got := strings.Join(bounds, ", "); got != want {
			t.Errorf("%s: the bounds are %s, want %s", figure, got, want)
		}
	}
}

// TestOneAllocationMore has a service that allocates once a message and a hand loop that does not.
func TestOneAllocationMore(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	code := d.Backends[0].Code
	i := slices.IndexFunc(code.Rows, func(r document.Row) bool { return r.Scenario() == "consume-json" })
	for j := range code.Rows[i].Code.Runs {
		r := &code.Rows[i].Code.Runs[j]
		r.Blocks2N += r.N
	}
	code.Derive()
	for _, l := range lines(t, d, "a service over the hand loop, JSON 128 B") {
		if l.Cell == "consume json, more allocations" {
			if l.Verdict != NotReached {
				t.Errorf("one allocation more is %s, %s", l.Verdict, l.Value)
			}
			return
		}
	}
	t.Error("there is no line of allocations")
}

// TestBothRowsOfADifferenceSpread has a service whose runs are all alike, and a hand loop whose runs differ.
func TestBothRowsOfADifferenceSpread(t *testing.T) {
	t.Parallel()
	run := func(slope int64) document.CodeRun {
		return document.CodeRun{N: 1000, InstrN: 1e6, Instr2N: 1e6 + 1000*slope}
	}
	row := func(flow, over string, slopes ...int64) document.Row {
		r := document.Row{Cell: document.Cell{Subject: matrix.Wherry, Flow: flow}, Method: document.Count, Code: &document.Code{Over: over}}
		for _, slope := range slopes {
			r.Code.Runs = append(r.Code.Runs, run(slope))
		}
		return r
	}
	b := &document.Backend{Code: &document.Part{Rows: []document.Row{
		row("hand-drain-json", "", 1000, 1100, 900), row("consume-json", "hand-drain-json", 1250, 1250, 1250),
	}}}
	b.Code.Derive()
	if l := serviceCost(b)[0]; l.Value != "250 (150 to 350)" || l.Verdict != NotDecided {
		t.Errorf("%s, %s", l.Value, l.Verdict)
	}
}

func TestMiddlewareIsDividedByTheirNumber(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	code := d.Backends[0].Code
	i := slices.IndexFunc(code.Rows, func(r document.Row) bool { return r.Flow == "middleware-1" })
	four := code.Rows[i]
	four.Flow = "middleware-4"
	code.Rows = append(code.Rows, four)
	code.Derive()
	all := lines(t, d, "each middleware")
	one, each := all[0], all[len(all)-2]
	if one.Value != "11 (10 to 12)" || each.Value != "3 (3 to 3)" {
		t.Errorf("one of one is %q and one of four is %q, want 11 and a quarter of it", one.Value, each.Value)
	}
}

func TestLatencyOverTakesBothFromTheSend(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	peers := d.Backends[0].Peers
	for i := range peers.Rows {
		if l := peers.Rows[i].Load; l != nil {
			l.Latency = &document.Quantiles{P50: 1, P95: 2, P99: 70_000, P999: 80_000, Max: 90_000}
			l.FromSend = &document.Quantiles{P50: 1, P95: 2, P99: 60_000, P999: 200_000, Max: 300_000}
			l.P99sFromSend = []int64{60_000, 54_000, 66_000}
			if peers.Rows[i].Subject != matrix.Wherry {
				l.FromSend.P99 = 100_000
				l.P99sFromSend = []int64{100_000, 90_000, 120_000}
			}
		}
	}
	all := lines(t, d, "dispatch latency, p99 over shove's, both from the send")
	if all[0].Verdict != Reached || all[0].Value != "0.6× (0.55× to 0.6×)" || all[1].Verdict != NotReached {
		t.Errorf("0.6× is %s (%s) at 5 k/s and %s at 25 k/s, want reached and not reached", all[0].Verdict, all[0].Value, all[1].Verdict)
	}
	if want := "from the intended time 70 µs"; !strings.Contains(all[0].Beside, want) {
		t.Errorf("beside it stands %q, want %q in it", all[0].Beside, want)
	}
}

// TestOneRunOfALoadDecidesNothing holds that a rung of which the document has one run has no interval, and so no verdict.
func TestOneRunOfALoadDecidesNothing(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	for _, p := range []*document.Part{d.Backends[0].Matrix, d.Backends[0].Peers} {
		for i := range p.Rows {
			if l := p.Rows[i].Load; l != nil {
				l.Runs, l.P99s, l.P99sFromSend = 5, nil, nil
			}
		}
	}
	for _, figure := range []string{
		"dispatch latency, p99 over shove's, both from the send", "dispatch latency at 100 k/s, p99 from the intended time",
	} {
		for _, l := range lines(t, d, figure) {
			if l.Value == "not sustained" {
				continue
			}
			if l.Verdict != NotDecided || l.Width != "one run has no interval" || l.Of != "one run" {
				t.Errorf("%s, %s: %s, %q, %q", l.Figure, l.Cell, l.Verdict, l.Width, l.Of)
			}
		}
	}
}

// TestRangeOfRunsDecides has one run of five above the bound.
func TestRangeOfRunsDecides(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	r := rungIn(d.Backends[0].Peers, matrix.Wherry, 100_000)
	r.Load.Latency.P99 = 200_000
	for _, c := range []struct {
		slowest int64
		want    Verdict
	}{{900_000, Reached}, {1_100_000, NotDecided}} {
		r.Load.Runs, r.Load.P99s = 5, []int64{c.slowest, 100_000, 200_000, 300_000, 150_000}
		l := lines(t, d, "dispatch latency at 100 k/s, p99 from the intended time")[1]
		if l.Verdict != c.want || !strings.HasPrefix(l.Value, "200 µs (100 µs to ") || l.Of != "lowest and highest of 5 runs" {
			t.Errorf("%s: %s, %q, %q", l.Cell, l.Verdict, l.Value, l.Of)
		}
	}
}

// TestLatencyOverTakesBothOfOnePart has Wherry's rungs in the matrix alone, which was measured at another time than shove.
func TestLatencyOverTakesBothOfOnePart(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	peers := d.Backends[0].Peers
	peers.Rows = slices.DeleteFunc(peers.Rows, func(r document.Row) bool {
		return r.Method == document.Offered && r.Subject == matrix.Wherry
	})
	if rungIn(d.Backends[0].Matrix, matrix.Wherry, 5_000) == nil {
		t.Fatal("the matrix of the sample has no rung")
	}
	for _, l := range lines(t, d, "dispatch latency, p99 over shove's, both from the send") {
		if l.Verdict != NotMeasured {
			t.Errorf("%s, %s: the rungs were not measured together", l.Verdict, l.Value)
		}
	}
}

func TestFlatnessOfMissingRow(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	for i := range d.Backends[0].Matrix.Rows {
		r := &d.Backends[0].Matrix.Rows[i]
		if isLive(r, matrix.Wherry, 8, 2) {
			r.Runs, r.Summary, r.NotShown = nil, nil, &document.Reason{Code: document.Failed, Text: "a message was lost"}
		}
	}
	all := lines(t, d, "live, the lowest rate over the best, by concurrency")
	if all[0].Verdict != NotMeasured || all[0].Value != "8 consumers: failed, a message was lost" {
		t.Errorf("without the row at 8 it is %s, %q, want not measured and the reason", all[0].Verdict, all[0].Value)
	}
}

// TestQuickRunsDecideNothing holds that short runs, and ratios of too few rounds, are no claim either way.
func TestQuickRunsDecideNothing(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	for _, p := range []*document.Part{d.Backends[0].Matrix, d.Backends[0].Levers, d.Backends[0].Code, d.Backends[0].Peers} {
		p.Provenance.Quick = true
	}
	for _, l := range Lines(d) {
		switch {
		case l.Verdict == Reached:
			t.Errorf("%s, %s: reached by a quick run", l.Figure, l.Cell)
		case l.Verdict == NotReached && l.Value != "not sustained":
			t.Errorf("%s, %s: not reached by a quick run", l.Figure, l.Cell)
		}
	}
	d = sample.Document()
	for i := range d.Backends[0].Peers.Ratios {
		d.Backends[0].Peers.Ratios[i].Rounds = 2
	}
	for _, l := range lines(t, d, "live, over Watermill's Router") {
		if l.Verdict != NotDecided || l.Width != "too few runs for an interval" {
			t.Errorf("two rounds are %s, %q, want not decided", l.Verdict, l.Width)
		}
	}
}
