package document

import (
	"errors"
	"slices"
	"testing"
)

func sampleHost() Host {
	return Host{
		CPU: "Example CPU 9000", Architecture: "amd64", FrequencyMHz: 2900, PhysicalCores: 1, LogicalCores: 2,
		MemoryBytes: 8_323_424_256, MemorySpeed: Unknown, OS: "Example Linux 12", Kernel: "6.8.0-41",
	}
}

func sampleProvenance() Provenance {
	return Provenance{
		Version: "v0.3.1", Commit: "a61c723f", Date: "2026-11-30T10:15:00Z", Go: "go1.26.8", GOMAXPROCS: 2,
		BuildFlags: "-trimpath", Environment: map[string]string{"GOGC": "off", "GODEBUG": "asyncpreemptoff=1"},
		Codec: "encoding/json", Valgrind: "3.22.0", Client: "none", Broker: "mem, in process", Durability: "none",
		RoundTripNS: 1234,
	}
}

func sampleRuns(rate float64) []Run {
	runs := make([]Run, 0, 3)
	for i, drift := range []float64{1, 0.97, 1.031} {
		n := int64(2_000_000)
		runs = append(runs, Run{
			Round: i + 1, Messages: n - 32, ElapsedNS: int64(float64(n)*1e9/(rate*drift)) + int64(rate)%7*int64(i)*12_345_678, CPUNS: 987_654_321 + int64(i),
			PeakRSS: 41_943_040 + int64(i)*4096, Ledger: Ledger{Published: n, Handled: n, Reordered: 7},
		})
	}
	return runs
}

func sampleCell(flow string, consumers int) Cell {
	return Cell{
		Subject: "wherry", Flow: flow, Payload: 64, Consumers: consumers, Handler: "zero", Codec: "json", Procs: 2,
	}
}

func sampleMatrix() *Part {
	one, four, peer := sampleCell("parallel", 1), sampleCell("parallel", 4), sampleCell("parallel", 4)
	peer.Subject, peer.Variant, peer.Codec = "watermill-router", "gochannel", "bytes"
	offered, late := sampleCell("parallel", 1), sampleCell("parallel", 1)
	offered.Rate, late.Rate = 5000, 25_000
	short := sampleCell("sequenced", 2)
	p := &Part{Provenance: sampleProvenance(), Rows: []Row{
		{Cell: one, Method: Drain, Runs: sampleRuns(1_034_567), Notes: []string{"a bound of 10,000 in place of 1,000"}},
		{Cell: four, Method: Drain, Runs: sampleRuns(1_734_567)},
		{Cell: peer, Method: Drain, Runs: sampleRuns(123_456), Settings: []string{"buffer=10000"}},
		{Cell: short, Method: Drain, NotShown: &Reason{TooShort, "0.41 s for 2,000,000 messages"}},
		{Cell: offered, Method: Offered, Load: &Load{
			ScheduledNS: 9_999_800_000, Published: 50_000, PublishNS: 10_000_123_456, PeakLag: 2_345,
			Ledger: Ledger{Published: 50_000, Handled: 50_000, Ordered: true}, CPUNS: 1_234_567_890, PeakRSS: 31_457_280,
			Latency:  &Quantiles{12_345, 45_678, 98_765, 234_567, 1_234_567},
			FromSend: &Quantiles{11_345, 44_678, 97_765, 233_567, 1_233_567},
			Lateness: &Quantiles{101, 1_234, 5_678, 9_012, 34_567},
			Runs:     3, P99sFromSend: []int64{96_543, 97_765, 123_456}, P99s: []int64{97_654, 98_765, 124_567},
		}},
		{Cell: late, Method: Offered, Load: &Load{
			ScheduledNS: 9_999_960_000, Published: 250_000, PublishNS: 13_000_123_456, PeakLag: 123_456,
			Ledger: Ledger{Published: 250_000, Handled: 250_000}, CPUNS: 2_234_567_890, PeakRSS: 61_457_280,
		}},
	}}
	p.Ratios = []Ratio{{Of: four, To: peer}, {Of: four, To: one}}
	return p
}

func sampleCode() *Part {
	row := func(scenario string, per int64) Row {
		code := &Code{}
		for i := range int64(2) {
			n := int64(20_000)
			code.Runs = append(code.Runs, CodeRun{
				N: n, InstrN: 9_876_543 + per*n + i*1001, Instr2N: 9_876_543 + 2*per*n + i*2003, BlocksN: 1_212 + i,
				Blocks2N: 1_215 + i, BytesN: 345_678, Bytes2N: 345_999, ColdInstr: 8_765_432, ColdBlocks: 987,
			})
		}
		cell := sampleCell(scenario, 1)
		cell.Procs = 1
		return Row{Cell: cell, Method: Count, Code: code}
	}
	p := &Part{Provenance: sampleProvenance(), Rows: []Row{row("loop", 412), row("consume", 683)}}
	p.Rows[1].Code.Over = "loop"
	return p
}

func sampleLevers() *Part {
	busy := sampleCell("parallel", 4)
	busy.Prefetch, busy.Workers = 32, 2
	return &Part{Provenance: sampleProvenance(), Rows: []Row{
		{Cell: busy, Method: Live, Runs: sampleRuns(834_567), Extra: &Extra{BusiestShare: 0.2613, StopNS: 1_234_567}},
	}}
}

// sample is a valid document with every kind of row.
func sample(t testing.TB) *Document {
	t.Helper()
	d := New(sampleHost())
	merge(t, d, "mem", MatrixPart, sampleMatrix())
	merge(t, d, "mem", CodePart, sampleCode())
	merge(t, d, "kafka", LeversPart, sampleLevers())
	return d
}

func merge(t testing.TB, d *Document, backend, name string, part *Part) {
	t.Helper()
	if err := d.Merge(sampleHost(), backend, name, part); err != nil {
		t.Fatal(err)
	}
}

func encoded(t testing.TB, d *Document) []byte {
	t.Helper()
	data, err := Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// wantFault fails the test unless a fault stands at the path.
func wantFault(t *testing.T, err error, path string) {
	t.Helper()
	wrong, ok := errors.AsType[*InvalidError](err)
	if !ok || !slices.ContainsFunc(wrong.Faults, func(f Fault) bool { return f.Path == path }) {
		t.Errorf("no fault at %s, but:\n%v", path, err)
	}
}
