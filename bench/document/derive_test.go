package document

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	run := func(messages, elapsed, cpu, peak int64) Run {
		return Run{Messages: messages, ElapsedNS: elapsed, CPUNS: cpu, PeakRSS: peak, Ledger: Ledger{Published: 1000, Handled: 1000}}
	}
	one := sampleCell("parallel", 1)
	four, without := sampleCell("parallel", 4), sampleCell("parallel", 4)
	without.Payload = 1024
	p := &Part{Rows: []Row{
		{Cell: four, Method: Drain, Runs: []Run{run(1000, 1e9, 4000, 7), run(1000, 4e9, 2000, 9), run(1000, 2e9, 1000, 8)}},
		{Cell: one, Method: Drain, Runs: []Run{run(1000, 4e9, 4000, 7), run(1000, 5e9, 4000, 7)}},
		{Cell: without, Method: Drain, Runs: []Run{run(1000, 3e9, 4000, 7)}},
		{Cell: sampleCell("sequenced", 1), Method: Drain, NotShown: &Reason{Failed, "lost 1 of 1,000"}, Summary: &Summary{Best: 3}},
	}}
	p.Derive()
	half, whole := 500/225.0, 1.0
	half = rounded(half)
	for i, want := range []*Summary{
		{Best: 1000, Median: 500, Worst: 250, CPU: 2, PeakRSS: 9, SpreadFactor: 4, Efficiency: &half},
		{Best: 250, Median: 225, Worst: 200, CPU: 4, PeakRSS: 7, SpreadFactor: 1.25, Efficiency: &whole},
		{Best: 333.33333, Median: 333.33333, Worst: 333.33333, CPU: 4, PeakRSS: 7, SpreadFactor: 1},
		nil,
	} {
		if diff := cmp.Diff(want, p.Rows[i].Summary); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.Rows[i].Cell, diff)
		}
	}
}

func TestLoadVerdict(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		took, lag int64
		reached   float64
		sustained bool
	}{
		"in time":       {10_000_000_000, 0, 1, true},
		"at the edges":  {10_526_315_789, 2500, 0.95, true},
		"too slow":      {10_540_000_000, 0, 0.94876660, false},
		"lags too much": {10_000_000_000, 2501, 1, false},
	} {
		cell := sampleCell("parallel", 1)
		cell.Rate = 5000
		p := &Part{Rows: []Row{{Cell: cell, Method: Offered, Load: &Load{
			Published: 50_000, PublishNS: test.took, PeakLag: test.lag, Latency: &Quantiles{}, FromSend: &Quantiles{}, Lateness: &Quantiles{},
		}}}}
		p.Derive()
		l := p.Rows[0].Load
		if l.Reached != test.reached || l.Sustained != test.sustained {
			t.Errorf("%s: reached %v, sustained %v, want %v, %v", name, l.Reached, l.Sustained, test.reached, test.sustained)
		}
		if (l.Latency != nil) != test.sustained || (l.FromSend != nil) != test.sustained || l.Lateness == nil {
			t.Errorf("%s: what is withheld does not follow the verdict: %+v", name, l)
		}
	}
}

func TestCodeSlope(t *testing.T) {
	t.Parallel()
	p := sampleCode()
	p.Rows[0].Code.Runs = []CodeRun{
		{N: 100, InstrN: 1000, Instr2N: 2000, BlocksN: 10, Blocks2N: 310, BytesN: 5, Bytes2N: 4},
		{N: 100, InstrN: 1000, Instr2N: 2040, BlocksN: 10, Blocks2N: 210, BytesN: 5, Bytes2N: 5},
		{N: 100, InstrN: 1000, Instr2N: 2010, BlocksN: 10, Blocks2N: 210, BytesN: 5, Bytes2N: 5},
	}
	p.Derive()
	got := *p.Rows[0].Code
	got.Runs = nil
	want := Code{Instructions: 10.1, Spread: rounded(0.2 / 10.1), Allocations: 3}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestOver chooses among rows of the scenario that another one is compared with.
func TestOver(t *testing.T) {
	t.Parallel()
	p := sampleCode()
	other := p.Rows[0]
	other.Codec = "fastjson"
	other.Code = &Code{Runs: []CodeRun{{N: 100, InstrN: 1000, Instr2N: 2000}}}
	p.Rows = append([]Row{other}, p.Rows...)
	p.Derive()
	if more := p.Rows[2].Code.More; more == nil || *more != 271 {
		t.Errorf("the row takes %v more, want 271 more than the row of its own codec", more)
	}
	p.Rows[2].Code.Over = "nothing"
	p.Derive()
	if more := p.Rows[2].Code.More; more != nil {
		t.Errorf("the row takes %v more than a row that is not there", *more)
	}
}
