package versus

import (
	"slices"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// TestCells wants each cell once, turns in one piece, and all subjects runnable.
func TestCells(t *testing.T) {
	t.Parallel()
	cells := map[document.Cell]document.Method{}
	turns := map[string]bool{}
	last := ""
	for _, s := range Cells() {
		if _, there := cells[s.Cell]; there {
			t.Errorf("%v stands twice", s.Cell)
		}
		cells[s.Cell] = s.Method
		if s.Turn != last && turns[s.Turn] {
			t.Errorf("the turn %q is in pieces", s.Turn)
		}
		last, turns[s.Turn] = s.Turn, true
		_, inGo := goPeers.built[s.Subject]
		_, inRust := rustPeers.built[s.Subject]
		if !inGo && !inRust {
			t.Errorf("no program runs %s", s.Subject)
		}
		if s.Rounds < rounds && s.Method != document.Offered {
			t.Errorf("%v has %d rounds", s.Cell, s.Rounds)
		}
	}
	var all, planned time.Duration
	r := &runner{}
	for _, s := range Cells() {
		all += Options{}.Expected(&s)
		r.rows = append(r.rows, newRow(s, false))
	}
	for _, step := range r.steps() {
		planned += step.Expected
	}
	if all > 25*time.Minute || all != planned {
		t.Errorf("all cells are expected to take %v, and %v are planned", all, planned)
	}
}

// TestCompared wants the comparisons that are asked for.
func TestCompared(t *testing.T) {
	t.Parallel()
	ratios := Ratios(Cells())
	has := func(subject, flow string, payload, n, workers, procs int, of string) bool {
		return slices.ContainsFunc(ratios, func(r document.Ratio) bool {
			return r.Of.Subject == matrix.Wherry && r.To.Subject == subject && r.Of.Flow == flow && r.To.Flow == flow &&
				r.Of.Payload == payload && r.To.Payload == payload && r.Of.Consumers == n && r.To.Consumers == n &&
				r.Of.Workers == workers && r.Of.Procs == procs && r.To.Procs == procs && r.Of.Codec == of
		})
	}
	for _, n := range []int{1, 2, 4, 8, 32} {
		for _, procs := range []int{1, 2} {
			for _, subject := range []string{matrix.Channel, matrix.BareChannel} {
				if !has(subject, "parallel", 64, n, 0, procs, "bytesview") {
					t.Errorf("nothing compares with %s at %d on %d", subject, n, procs)
				}
			}
		}
		for _, subject := range []string{Watermill, WatermillRouter, GoCloud, Benthos} {
			if !has(subject, "parallel", 64, n, 0, 2, "bytesview") {
				t.Errorf("nothing compares with %s at %d", subject, n)
			}
		}
		if n > 1 && !has(matrix.Channel, "parallel", 64, n, n, 2, "bytesview") {
			t.Errorf("nothing compares %d workers with a channel", n)
		}
	}
	for _, n := range []int{1, 2, 4, 8} {
		for _, payload := range []int{64, 1 << 10, 64 << 10} {
			if !has(Shove, "parallel", payload, n, 0, 2, "fastjson") {
				t.Errorf("nothing compares a drain with shove at %d B and %d", payload, n)
			}
		}
		if !has(Shove, "batch", 64, n, 0, 2, "fastjson") {
			t.Errorf("nothing compares batches with shove at %d", n)
		}
	}
	for _, codec := range []string{"fastjson", "json"} {
		if !has(Shove, "sequence", 64, 8, 0, 2, codec) {
			t.Errorf("nothing compares a sequence by %s with shove", codec)
		}
	}
	for _, procs := range []int{1, 2} {
		if !has(RustStream, Service, 128, 1, 0, procs, "fastjson") {
			t.Errorf("nothing compares the service with ruststream on %d", procs)
		}
	}
}

func TestOnly(t *testing.T) {
	t.Parallel()
	cells, err := matrix.Only(Cells(), "method=offered rate=5000")
	if err != nil || len(cells) != 2 {
		t.Errorf("%d cells, %v; want Wherry and shove", len(cells), err)
	}
}
