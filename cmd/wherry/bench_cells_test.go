package main

import (
	"testing"

	"github.com/wherryhq/wherry/bench/codecost"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/versus"
)

// filled gives a row some values of its method.
func filled(cell document.Cell, method document.Method) document.Row {
	r := document.Row{Cell: cell, Method: method}
	ledger := document.Ledger{Published: 5000, Handled: 5000}
	switch method {
	case document.Offered:
		r.Load = &document.Load{
			ScheduledNS: 1, Published: 5000, PublishNS: 1e9, Ledger: ledger, CPUNS: 1, PeakRSS: 1,
			Latency: &document.Quantiles{P99: 1000, P999: 1000, Max: 1000}, Lateness: &document.Quantiles{},
		}
	case document.Count:
		r.Code = &document.Code{Runs: []document.CodeRun{{N: 1, InstrN: 1, Instr2N: 2}}}
	case document.Drain, document.Live, document.Paired:
		r.Runs = []document.Run{{Messages: 5000, ElapsedNS: 2e9, CPUNS: 1, PeakRSS: 1, Ledger: ledger}}
	}
	return r
}

func filledSpecs(specs []matrix.Spec) []document.Row {
	rows := make([]document.Row, 0, len(specs))
	for i := range specs {
		rows = append(rows, filled(specs[i].Cell, specs[i].Method))
	}
	return rows
}

// TestBenchCellsFit writes every cell that can be measured into a document, which would refuse it after the measuring.
func TestBenchCellsFit(t *testing.T) {
	t.Parallel()
	mem, err := matrix.Named("mem")
	if err != nil {
		t.Fatal(err)
	}
	var counted []document.Row
	for _, scenario := range codecost.Scenarios() {
		row := filled(scenario.Cell(), document.Count)
		row.Code.Over = scenario.Over
		counted = append(counted, row)
	}
	for name, part := range map[string]*document.Part{
		document.MatrixPart: {Rows: filledSpecs(matrix.Matrix(mem)), Ratios: matrix.Ratios(matrix.Matrix(mem))},
		document.LeversPart: {Rows: filledSpecs(matrix.Levers(mem)), Ratios: matrix.Ratios(matrix.Levers(mem))},
		document.PeersPart:  {Rows: filledSpecs(versus.Cells()), Ratios: versus.Ratios(versus.Cells())},
		document.CodePart:   {Rows: counted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old := resultsOf(t, 2e9, "6.8")
			d, err := document.ReadFile(old)
			if err != nil {
				t.Fatal(err)
			}
			asked := len(part.Ratios)
			part.Provenance = d.Backends[0].Matrix.Provenance
			if err := d.Merge(d.Host, "mem", name, part); err != nil {
				t.Fatal(err)
			}
			if err := d.Validate(); err != nil {
				t.Error(err)
			}
			if len(part.Ratios) != asked {
				t.Errorf("%d of %d comparisons have two rows with rounds", len(part.Ratios), asked)
			}
			for i := range part.Rows {
				if code := part.Rows[i].Code; code != nil && code.Over != "" && code.More == nil {
					t.Errorf("%s is compared with %s, which is no scenario", part.Rows[i].Cell, code.Over)
				}
			}
		})
	}
}
