package reach

import (
	"slices"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/charts/sample"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

const (
	figureSequenced = "in the order of 1,000 keys over in any order, 64 B"
	figureBlocks    = "a message in the order of its key"
	figurePeer      = "in the order of 1,000 keys, over shove, JSON 64 B, live"
	figurePoisoned  = "one poisoned key among 1,000, what it costs"
	figureFill      = "batches that fill over single messages"
	figureCalls     = "batches over single messages, a call of 50 µs, one worker"
	figureAge       = "batches that do not fill, p99 beyond their age"
)

// TestOrderAndBatchesOfSample has a line for every cell that decides.
func TestOrderAndBatchesOfSample(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	for figure, want := range map[string][]string{
		figureSequenced: {
			"1 consumer, json reached", "2 consumers, json reached", "4 consumers, json reached", "8 consumers, json reached",
			"without a decode reached",
		},
		figureBlocks:   {"sequence, allocations reached"},
		figurePeer:     {"8 consumers reached"},
		figurePoisoned: {"the rate of the others reached"},
		figureCalls:    {"without a decode reached", "json not reached"},
		figureAge: {
			"500/s, 1 consumer not reached", "500/s, 4 consumers not reached", "5 k/s, 4 consumers not reached",
		},
	} {
		var got []string
		for _, l := range lines(t, d, figure) {
			got = append(got, l.Cell+" "+string(l.Verdict))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", figure, got, want)
		}
	}
	fill := lines(t, d, figureFill)
	if len(fill) != 16 || fill[4].Cell != "64 B, 1 consumer, fastjson" || fill[15].Cell != "64 KiB, 8 consumers, json" {
		t.Errorf("the lines of batches that fill are %+v", fill)
	}
	for _, l := range fill {
		if l.Verdict == NotMeasured || !strings.Contains(l.From, "over parallel") || l.Of != "lowest and highest of 3 rounds" {
			t.Errorf("%s: %s, from %q, of %q", l.Cell, l.Verdict, l.From, l.Of)
		}
	}
}

// TestOrderIsNotMeasured has the reason of the row that is missing.
func TestOrderIsNotMeasured(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	b := &d.Backends[0]
	lost := &document.Reason{Code: document.Failed, Text: "one was lost"}
	for _, p := range []*document.Part{b.Matrix, b.Levers, b.Peers} {
		for i := range p.Rows {
			if r := &p.Rows[i]; r.Flow == matrix.Sequence || r.Flow == matrix.Batch && r.Handler == matrix.Call {
				r.Runs, r.Summary, r.NotShown = nil, nil, lost
			}
		}
		p.Derive()
	}
	for _, figure := range []string{figureSequenced, figurePeer, figurePoisoned, figureCalls} {
		for _, l := range lines(t, d, figure) {
			if l.Verdict != NotMeasured || l.Value != "failed, one was lost" {
				t.Errorf("%s, %s: %s, %q", l.Figure, l.Cell, l.Verdict, l.Value)
			}
		}
	}
}

// TestPoisonedKeyCosts turns a ratio into what is lost, with the ends of its interval in their places.
func TestPoisonedKeyCosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		low, median, high float64
		want              Verdict
		value             string
	}{
		{0.96, 0.98, 1.01, Reached, "2 % (−1 % to 4 %)"},
		{0.94, 0.98, 1, NotDecided, "2 % (0 % to 6 %)"},
		{0.95, 0.95, 0.95, NotReached, "5 %"},
		{0.6, 0.7, 0.8, NotReached, "30 % (20 % to 40 %)"},
	} {
		d := sample.Document()
		p := d.Backends[0].Levers
		i := slices.IndexFunc(p.Ratios, func(r document.Ratio) bool { return r.Of.Variant == matrix.PoisonedKey })
		p.Ratios[i].Low, p.Ratios[i].Median, p.Ratios[i].High = c.low, c.median, c.high
		l := lines(t, d, figurePoisoned)[0]
		if l.Verdict != c.want || l.Value != c.value || l.Bound != "< 5 %" {
			t.Errorf("%v: %s, %q, %s", c, l.Verdict, l.Value, l.Bound)
		}
	}
}

// TestBatchesThatWait holds the p99 of each run against the age.
func TestBatchesThatWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p99s []int64
		want Verdict
		text string
	}{
		{[]int64{249e6, 251e6, 254e6}, Reached, "1 ms (−1 ms to 4 ms)"},
		{[]int64{249e6, 251e6, 256e6}, NotDecided, "1 ms (−1 ms to 6 ms)"},
		{[]int64{262e6, 263e6, 264e6}, NotReached, "13 ms (12 ms to 14 ms)"},
		{nil, NotDecided, "1 ms"},
	} {
		d := sample.Document()
		r := find(d.Backends[0].Matrix, func(r *document.Row) bool {
			return r.Method == document.Offered && r.Flow == matrix.Batch && r.Rate == 500 && r.Consumers == 1
		})
		r.Load.P99s, r.Load.Latency.P99 = c.p99s, 251e6
		l := lines(t, d, figureAge)[0]
		if l.Verdict != c.want || l.Value != c.text || l.Beside != "p99 251 ms, the age is 250 ms" {
			t.Errorf("%v: %s, %q, beside it %q", c.p99s, l.Verdict, l.Value, l.Beside)
		}
		r.Settings = []string{"batch-size=500", "batch-age=250ms0"}
		if l := lines(t, d, figureAge)[0]; l.Verdict != NotMeasured || !strings.Contains(l.Value, "batch-age=250ms") {
			t.Errorf("a row of another age: %s, %q", l.Verdict, l.Value)
		}
	}
}

// TestSequenceAllocates has a sequence that allocates once in a hundred messages.
func TestSequenceAllocates(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	code := d.Backends[0].Code
	r := find(code, func(r *document.Row) bool { return r.Scenario() == "sequence" })
	for i := range r.Code.Runs {
		r.Code.Runs[i].Blocks2N += r.Code.Runs[i].N / 100
	}
	code.Derive()
	if l := lines(t, d, figureBlocks)[0]; l.Verdict != NotReached || l.Value != "0.01" {
		t.Errorf("%s, %q", l.Verdict, l.Value)
	}
}
