package matrix

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
)

func mem(t *testing.T) Backend {
	t.Helper()
	b, err := Named("mem")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCellsAreUnique(t *testing.T) {
	t.Parallel()
	for _, specs := range [][]Spec{Matrix(mem(t)), Levers(mem(t))} {
		cells := map[document.Cell]bool{}
		names := map[string]bool{}
		for i := range specs {
			s := &specs[i]
			if cells[s.Cell] || names[s.Name()] {
				t.Errorf("%s is there twice", s.Name())
			}
			cells[s.Cell], names[s.Name()] = true, true
		}
	}
}

// A backend may take 20 minutes.
func TestTimeOfMem(t *testing.T) {
	t.Parallel()
	sum := Expected(Matrix(mem(t))) + Expected(Levers(mem(t)))
	if sum > 20*time.Minute {
		t.Errorf("a run is expected to take %v, at most 20 minutes are allowed", sum)
	}
}

// A turn is measured as a whole, so that its specs stand together and have one number of rounds.
func TestTurnsAreTogether(t *testing.T) {
	t.Parallel()
	for _, specs := range [][]Spec{Matrix(mem(t)), Levers(mem(t))} {
		seen := map[string]int{}
		for i := range specs {
			s := &specs[i]
			rounds, ok := seen[s.Turn]
			differ := rounds != s.Rounds && s.Method != document.Offered // Rungs ascend, each by itself.
			if ok && (differ || specs[i-1].Turn != s.Turn) {
				t.Errorf("%s is not with its turn %q", s.Name(), s.Turn)
			}
			seen[s.Turn] = s.Rounds
		}
	}
}

func TestEveryFlowHasItsCells(t *testing.T) {
	t.Parallel()
	specs := Matrix(mem(t))
	for _, flow := range drained {
		got, err := Only(specs, "method=drain handler=zero codec=json flow="+flow)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(payloads) * len(consumers); len(got) != want {
			t.Errorf("%s has %d cells, want %d", flow, len(got), want)
		}
		if absent := missing[flow]; got[0].Missing != absent {
			t.Errorf("%s misses %q, want %q", flow, got[0].Missing, absent)
		}
	}
}

func TestRatios(t *testing.T) {
	t.Parallel()
	specs, err := Only(Matrix(mem(t)), "method=live consumers=4 procs=2")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range Ratios(specs) {
		got = append(got, strings.TrimSpace(r.Of.Variant+" to "+r.To.Subject))
	}
	want := []string{
		"to go-channel", "to go-channel-bare", "to go-channel", "to go-channel-bare",
		"publish-all=100 to go-channel", "publish-all=100 to go-channel-bare",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestRatiosOfLevers has the comparisons that the levers are about, each within a turn.
func TestRatiosOfLevers(t *testing.T) {
	t.Parallel()
	specs := Levers(mem(t))
	turn := func(c document.Cell) string {
		i := slices.IndexFunc(specs, func(s Spec) bool { return s.Cell == c })
		return specs[i].Turn
	}
	var got []string
	for _, r := range Ratios(specs) {
		if turn(r.Of) != turn(r.To) {
			t.Errorf("%+v and %+v are not measured in turn", r.Of, r.To)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %d over %s", r.Of.Flow, r.Of.Variant, r.Of.Codec, r.Of.Consumers, r.To.Flow)))
	}
	want := []string{
		"batch  bytesview 1 over parallel", "batch  json 1 over parallel",
		"sequence  bytesview 4 over parallel", "sequence poisoned-key bytesview 4 over sequence",
		"batch  bytesview 1 over parallel", "transaction  bytesview 1 over batch", "transaction  bytesview 1 over parallel",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestComparedInTurn has sequences and batches compared with single messages of the same turn, at every payload and number of
// consumers, with rounds enough for an interval.
func TestComparedInTurn(t *testing.T) {
	t.Parallel()
	specs := Matrix(mem(t))
	find := func(c document.Cell) *Spec {
		return &specs[slices.IndexFunc(specs, func(s Spec) bool { return s.Cell == c })]
	}
	counts := map[string]int{}
	for _, r := range Ratios(specs) {
		of, to := find(r.Of), find(r.To)
		if r.Of.Flow == r.To.Flow {
			continue
		}
		counts[r.Of.Flow+" over "+r.To.Flow]++
		if of.Turn != to.Turn || of.Rounds < 3 {
			t.Errorf("%s over %s: %d rounds, in the turns %q and %q", of.Name(), to.Name(), of.Rounds, of.Turn, to.Turn)
		}
		if of.Flow == Sequence && of.Keys != 1000 {
			t.Errorf("%s has %d keys", of.Name(), of.Keys)
		}
	}
	// Batches at the smallest payload have a second codec.
	want := map[string]int{"sequence over parallel": 12, "batch over parallel": 16}
	if !reflect.DeepEqual(counts, want) {
		t.Errorf("got %v, want %v", counts, want)
	}
}

func TestSpecTravels(t *testing.T) {
	t.Parallel()
	for _, s := range append(Matrix(mem(t)), Levers(mem(t))...) {
		data, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var back Spec
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(s, back) {
			t.Fatalf("%+v became %+v, %v", s, back, err)
		}
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	specs := Matrix(mem(t))
	for _, c := range []struct {
		filter string
		cells  int
		err    string
	}{
		{"", len(specs), ""},
		{"method=drain flow=parallel payload=64 consumers=1,2 codec=json", 2, ""},
		{"method=drain flow=batch payload=1KiB,64B consumers=1 codec=json", 2, ""},
		{"payload=2KiB", 0, "no cell has payload=2048"},
		{"  flow=publish\tconsumers=8  ", 3, ""},
		{"flow=sideways", 0, `no cell has flow=sideways; the values are ledger, parallel, publish, `},
		{"flows=parallel", 0, `no field "flows"; the fields are subject, method, flow,`},
		{"flow", 0, `"flow" is not of the form field=value`},
		{"flow=", 0, `"flow=" is not of the form field=value`},
		{"payload=65", 0, "no cell has payload=65; the values are 64, 1024, 65536"},
		{"flow=publish rate=500", 0, "each value exists, and not together"},
	} {
		t.Run(c.filter, func(t *testing.T) {
			t.Parallel()
			got, err := Only(specs, c.filter)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got the error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil || len(got) != c.cells {
				t.Errorf("got %d cells, want %d; %v", len(got), c.cells, err)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	if _, err := Named("men"); err == nil || !strings.Contains(err.Error(), `"men"; there is mem`) {
		t.Errorf("got %v", err)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	if err := List(&b, Matrix(mem(t)), (*Spec).Expected); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"parallel, 64 B, consumers 1, json  ", "unsupported: flows", "cells", "about ",
		"live       go-channel parallel, 64 B, consumers 32, bytesview, procs 1",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the list", want)
		}
	}
}
