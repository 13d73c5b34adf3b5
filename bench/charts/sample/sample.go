// Package sample makes a document that looks like a real one and was not measured, for tests of what is drawn and written
// from documents. It has cells of every kind, with and without values.
package sample

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"sync"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/versus"
)

// Document is a sample of the caller's own, the same each time.
func Document() *document.Document {
	d := new(document.Document)
	if err := json.Unmarshal(encoded(), d); err != nil {
		panic(err) //nolint:forbidigo // A test of this package decodes it.
	}
	return d
}

// encoded is the sample as it would be in a file. To read it takes less than to derive it.
var encoded = sync.OnceValue(func() []byte {
	data, err := document.Encode(made())
	if err != nil {
		panic(err) //nolint:forbidigo // Its numbers are all finite.
	}
	return data
})

func made() *document.Document {
	mem, err := matrix.Named("mem")
	if err != nil {
		panic(err) //nolint:forbidigo // The in-process broker is always there.
	}
	levers := matrix.Levers(mem)
	cells := matrix.Matrix(mem)
	b := document.Backend{
		Name:   "mem",
		Matrix: &document.Part{Provenance: provenance(), Rows: timed(cells), Ratios: matrix.Ratios(cells)},
		Levers: &document.Part{Provenance: provenance(), Rows: timed(levers), Ratios: matrix.Ratios(levers)},
		Code:   &document.Part{Provenance: provenance(), Rows: counted()},
		Peers:  &document.Part{Provenance: provenance(), Rows: peers(), Ratios: versus.Ratios(versus.Cells())},
	}
	d := &document.Document{Schema: document.Schema, Host: host(), Backends: []document.Backend{b}}
	d.Derive()
	return d
}

func host() document.Host {
	return document.Host{
		CPU: "Sample CPU @ 2.50GHz", Architecture: "amd64", FrequencyMHz: 2500, PhysicalCores: 1, LogicalCores: 2,
		MemoryBytes: 24 << 30, MemorySpeed: "unknown", OS: "Sample Linux 12", Kernel: "6.1.0",
	}
}

func provenance() document.Provenance {
	return document.Provenance{
		Version: "v0.0.0", Commit: "0123456789abcdef0123456789abcdef01234567", Date: "2026-12-01T12:00:00Z", Go: "go1.26.8",
		GOMAXPROCS: 2, BuildFlags: "-trimpath", Environment: map[string]string{"GOGC": ""}, Codec: "encoding/json",
		Valgrind: "valgrind-3.19.0", Client: "none", Broker: "in process", Durability: "none",
	}
}

// noise is a number from −1 to 1 that depends on a text alone.
func noise(s string, i int) float64 {
	h := fnv.New64a()
	fmt.Fprint(h, s, i)
	return float64(h.Sum64()%20001)/10000 - 1
}

// timed makes rows of cells, with what the model below says of them.
func timed(specs []matrix.Spec) []document.Row {
	rows := make([]document.Row, 0, len(specs))
	for i := range specs {
		s := &specs[i]
		row := document.Row{Cell: s.Cell, Method: s.Method, Notes: s.Notes, Settings: s.Settings()}
		switch {
		case s.Missing != "":
			row.NotShown = &document.Reason{Code: document.Unsupported, Text: s.Missing}
		case s.Method == document.Offered:
			row.Load = load(s.Cell)
			if s.Rate == 100_000 && s.Flow == matrix.Batch && s.Consumers == 1 {
				row.Load = nil
				row.NotShown = &document.Reason{Code: document.PacerTooLate, Text: "its p99 lateness is 31 % of the p99"}
			}
		case s.Flow == matrix.DeadLetter && s.Payload > 1<<10:
			row.NotShown = &document.Reason{Code: document.TooShort, Text: "0.62 s, and a second is the least"}
		default:
			row.Runs = runs(s.Name(), s.Cell, speed(s.Cell), s.Rounds)
		}
		rows = append(rows, row)
	}
	return rows
}

// speed is a made-up rate.
func speed(c document.Cell) float64 {
	ns := map[string]float64{
		matrix.Publish: 320, matrix.PublishBatch: 140, matrix.Parallel: 240, matrix.Batch: 120, matrix.Group: 380,
		matrix.DeadLetter: 520, matrix.Notes: 18, matrix.Sequence: 410, matrix.Transaction: 640, matrix.Broadcast: 260,
	}[c.Flow]
	if c.Variant == matrix.PoisonedKey {
		ns += 8
	}
	if c.Handler == matrix.Call {
		calls := map[string]float64{matrix.Batch: matrix.BatchSize}[c.Flow]
		ns += float64(matrix.CallTime) / max(calls, 1)
	}
	ns += map[string]float64{matrix.JSON: 900, matrix.FastJSON: 260}[c.Codec] * math.Pow(float64(c.Payload)/64, 0.75)
	ns += map[string]float64{matrix.Wait: 3e6, matrix.Slow: 1.7e8, matrix.Compute: 4e3, matrix.Limited: 2e6, matrix.Sleep: 1e7}[c.Handler]
	switch c.Subject {
	case matrix.Channel:
		ns = 210
	case matrix.BareChannel:
		ns = 95
	}
	rate := 1e9 / ns
	cores := math.Min(float64(c.Consumers), float64(c.Procs))
	switch {
	case c.Handler != matrix.Zero && c.Handler != matrix.Compute && c.Handler != matrix.Call:
		cores = float64(max(c.Consumers, 1))
		if c.Prefetch > 0 {
			cores = math.Min(cores, float64(c.Prefetch)/4)
		}
	case c.Prefetch > 0:
		cores *= 1 - 0.9/math.Sqrt(float64(c.Prefetch))
	}
	return rate * (0.7 + 0.3*cores)
}

func runs(name string, c document.Cell, rate float64, rounds int) []document.Run {
	list := make([]document.Run, 0, rounds)
	for i := range rounds {
		messages := int64(math.Max(rate*1.3, 40))
		r := rate * (1 + 0.04*noise(name, i) + 0.03*noise("round", i))
		list = append(list, document.Run{
			Round: i + 1, Messages: messages, ElapsedNS: int64(float64(messages) * 1e9 / r),
			CPUNS:   int64(float64(messages) * 1e9 / r * math.Min(float64(max(c.Consumers, 1)), 1.9)),
			PeakRSS: 48<<20 + messages*int64(c.Payload)/4,
			Ledger:  document.Ledger{Published: messages, Handled: messages, Ordered: c.Consumers == 1},
		})
	}
	return list
}

// load makes a rung. Above 40,000 a second one consumer of batches, or of single messages, does not keep up.
func load(c document.Cell) *document.Load {
	published := int64(c.Rate) * 10
	l := &document.Load{
		ScheduledNS: 10_000_000_000, Published: published, PublishNS: 10_000_000_000, PeakLag: published / 500,
		Ledger: document.Ledger{Published: published, Handled: published}, CPUNS: 3_000_000_000, PeakRSS: 64 << 20,
		Lateness: tail(900),
	}
	base := 21_000 + float64(c.Rate)/4
	if c.Flow == matrix.Batch {
		base += 250e6 * math.Min(1, 2000/float64(c.Rate))
	}
	l.Latency, l.FromSend = tail(base), tail(base*0.9)
	if c.Rate >= 100_000 && c.Consumers == 1 {
		l.PeakLag = published / 5
	}
	thrice(l)
	return l
}

// thrice has a load be the one in the middle of three.
func thrice(l *document.Load) {
	around := func(p99 int64) []int64 { return []int64{p99 + p99/50, p99, p99 - p99/50} }
	l.Runs, l.P99s, l.P99sFromSend = 3, around(l.Latency.P99), around(l.FromSend.P99)
}

func tail(ns float64) *document.Quantiles {
	return &document.Quantiles{
		P50: int64(ns), P95: int64(ns * 1.6), P99: int64(ns * 2.7), P999: int64(ns * 7), Max: int64(ns * 31),
	}
}
