package terminal

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wherryhq/wherry/bench/compare"
	"github.com/wherryhq/wherry/bench/document"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the files below testdata")

func measured(flow string, consumers int) document.Cell {
	return document.Cell{Subject: "wherry", Flow: flow, Payload: 1024, Consumers: consumers, Handler: "zero", Codec: "json", Procs: 2}
}

func runs(n int, rate int64) []document.Run {
	all := make([]document.Run, 0, n)
	for i := range int64(n) {
		all = append(all, document.Run{
			Round: int(i), Messages: 2_000_000, ElapsedNS: 2_000_000*1_000_000_000/rate + i*10_000_000, CPUNS: 1_000_000_000 + i, PeakRSS: 40 << 20,
			Ledger: document.Ledger{Published: 2_000_000, Handled: 2_000_000},
		})
	}
	return all
}

// results is a document with every kind of row.
func results(t *testing.T, rate int64) *document.Document {
	t.Helper()
	offered, over, lever := measured("parallel", 1), measured("parallel", 1), measured("parallel", 4)
	offered.Rate, over.Rate = 5000, 25_000
	lever.Prefetch, lever.Workers, lever.Handler = 32, 2, "wait"
	ledger := document.Ledger{Published: 50_000, Handled: 50_000}
	counts := func(per int64) *document.Code {
		return &document.Code{Runs: []document.CodeRun{{N: 1000, InstrN: 5000, Instr2N: 5000 + per*1000, Blocks2N: 500}}}
	}
	consume := counts(683)
	consume.Over = "loop"
	matrix := &document.Part{Rows: []document.Row{
		{Cell: measured("parallel", 1), Method: document.Drain, Runs: runs(8, 900_000), Notes: []string{"the queue's bound is raised"}},
		{Cell: measured("parallel", 4), Method: document.Drain, Runs: runs(8, rate)},
		{
			Cell: measured("batch", 1), Method: document.Drain,
			NotShown: &document.Reason{Code: document.TooShort, Text: "0.41 s for 2,000,000 messages"},
		},
		{Cell: offered, Method: document.Offered, Load: &document.Load{
			ScheduledNS: 9_999_800_000, Published: 50_000, PublishNS: 10_000_000_000, Ledger: ledger, CPUNS: 1e9, PeakRSS: 1 << 20,
			Latency:  &document.Quantiles{P50: 12_345, P95: 45_678, P99: 98_765, P999: 234_567, Max: 1_234_567},
			Lateness: &document.Quantiles{P99: 567, P999: 890, Max: 1000},
		}},
		{Cell: over, Method: document.Offered, Load: &document.Load{
			ScheduledNS: 9_999_800_000, Published: 50_000, PublishNS: 10_000_000_000, Ledger: ledger, CPUNS: 1e9, PeakRSS: 1 << 20,
		}},
		{Cell: lever, Method: document.Live, Runs: runs(1, 100_000), Extra: &document.Extra{BusiestShare: 0.26, StopNS: 1_234_567}},
		{Cell: measured("loop", 1), Method: document.Count, Code: counts(412)},
		{Cell: measured("consume", 1), Method: document.Count, Code: consume},
	}, Ratios: []document.Ratio{{Of: measured("parallel", 4), To: measured("parallel", 1)}}}
	matrix.Provenance = document.Provenance{
		Version: "v0.3.1", Commit: "a61c723", Dirty: true, Date: "2026-12-01T05:00:00Z", Go: "go1.26.8", GOMAXPROCS: 2, BuildFlags: "none",
		Codec: "encoding/json", Valgrind: "3.22.0", Client: "none", Broker: "mem", Durability: "none", Quick: true,
		Environment: map[string]string{"GODEBUG": "asyncpreemptoff=1", "GOGC": "cleared"},
	}
	host := document.Host{
		CPU: "Example CPU 9000", Architecture: "amd64", FrequencyMHz: 2900, PhysicalCores: 1, LogicalCores: 2, MemoryBytes: 8 << 30,
		MemorySpeed: "2933 MT/s", OS: "Example Linux 12", Kernel: "6.8",
	}
	d := document.New(host)
	if err := d.Merge(host, "mem", document.MatrixPart, matrix); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	return d
}

// wantFile compares a text with the file that shows how it is to be.
func wantFile(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got, rewrite with -rewrite):\n%s", path, diff)
	}
}

func TestShow(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	Show(&b, results(t, 1_700_000))
	wantFile(t, "show.txt", b.Bytes())
}

func TestComparison(t *testing.T) {
	t.Parallel()
	after := results(t, 1_900_000)
	rows := after.Backends[0].Matrix.Rows
	after.Backends[0].Matrix.Rows = rows[:len(rows)-1]
	lines, err := compare.Documents(results(t, 1_700_000), after)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	Comparison(&b, lines)
	wantFile(t, "comparison.txt", b.Bytes())

	b.Reset()
	Comparison(&b, nil)
	if got, want := b.String(), "The documents have no value in common.\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
