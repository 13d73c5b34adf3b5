package codecost

import (
	"slices"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/progress"
)

// A notebook is a meter that keeps what it is told.
type notebook struct{ lines []string }

func (n *notebook) Plan(steps []progress.Step) {
	for _, s := range steps {
		n.lines = append(n.lines, "plan "+s.Name)
	}
}
func (n *notebook) Begin(name string) { n.lines = append(n.lines, "begin "+name) }
func (n *notebook) End(result string) { n.lines = append(n.lines, "end "+result) }

func TestMeter(t *testing.T) { //nolint:paralleltest // What stands in for valgrind is told by the environment.
	p := fakeProgram(t, 700, 500_000, 2)
	some, err := find([]string{"hand", "live", "flow"})
	if err != nil {
		t.Fatal(err)
	}
	var n notebook
	if _, err := p.count(t.Context(), Options{Runs: 1}.withDefaults(), some, &n); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"plan hand", "plan live", "begin hand", "end 700.0 instructions, 2.000 allocations",
		"begin live", "end 700.0 instructions, 2.000 allocations",
	}
	if !slices.Equal(n.lines, want) {
		t.Errorf("got %q, want %q", n.lines, want)
	}
}

func TestPrint(t *testing.T) {
	t.Parallel()
	more := row("more", 750, 1000, 64_000)
	more.Code.Over = "base"
	alone := row("alone", 0, 2000, 64_000)
	alone.Code.Runs[0].InstrN, alone.Code.Runs[0].Instr2N = 0, 0
	rows := []document.Row{
		alone, row("base", 700, 0, 0), more,
		{Cell: document.Cell{Flow: "flow"}, NotShown: &document.Reason{Code: document.Unsupported, Text: "not there yet"}},
	}
	var b strings.Builder
	Print(&b, rows, []document.Row{row("base", 690, 0, 0)})
	for i, want := range []string{
		"scenario instructions ± % before more than allocations bytes cold instructions",
		"alone - - 2.0000 64.0 -",
		"base 700.0 0.00 690.0 0.0000 0.0 0",
		"more 750.0 0.00 base +50.0 1.0000 64.0 0",
		"flow unsupported: not there yet",
	} {
		line := strings.Join(strings.Fields(strings.Split(b.String(), "\n")[i]), " ")
		if line != want {
			t.Errorf("line %d: got %q, want %q", i, line, want)
		}
	}
}
