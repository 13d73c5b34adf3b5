package codecost

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

// row is a counted row whose slopes are as given.
func row(flow string, instructions, blocks, bytes int64) document.Row {
	const n = 1000
	return document.Row{
		Cell: document.Cell{Flow: flow}, Method: document.Count,
		Code: &document.Code{Runs: []document.CodeRun{{
			N: n, InstrN: 1e6, Instr2N: 1e6 + instructions*n, BlocksN: 100, Blocks2N: 100 + blocks, BytesN: 100, Bytes2N: 100 + bytes,
		}}},
	}
}

func TestCeiling(t *testing.T) {
	t.Parallel()
	seen := []document.Row{
		row("none", 700, 0, 0), row("some", 900, 31_000, 900_000),
		{Cell: document.Cell{Flow: "flow"}, NotShown: &document.Reason{Code: document.Unsupported}},
	}
	name := filepath.Join(t.TempDir(), "ceiling.json")
	if err := NewCeiling(seen).Write(name); err != nil {
		t.Fatal(err)
	}
	c, err := ReadCeiling(name)
	if err != nil {
		t.Fatal(err)
	}
	if c["none"] != (Limit{Allocations: 0.001, Bytes: 1, Instructions: 700}) || c["some"].Allocations != 31.031 || len(c) != 2 {
		t.Errorf("got %+v", c)
	}
	differing := row("none", 700, 2, 0)
	differing.Code.Runs = append(differing.Code.Runs, row("none", 700, 1, 0).Code.Runs...)
	if got := NewCeiling([]document.Row{differing})["none"].Allocations; got != 0.004 {
		t.Errorf("2 and 1 blocks in 1,000 messages make a ceiling of %v, want 0.004", got)
	}
	if wrong := c.Check(seen); len(wrong) > 0 {
		t.Errorf("what made the ceiling is above it: %q", wrong)
	}
	failed := document.Row{Cell: document.Cell{Flow: "some"}, NotShown: &document.Reason{Code: document.Failed, Text: "why"}}
	got := c.Check([]document.Row{row("none", 700, 2, 2000), failed, row("new", 1, 0, 0)})
	want := []string{
		"none: 0.0020 allocations per message, the ceiling is 0.0010",
		"none: 2.00 bytes allocated per message, the ceiling is 1.00",
		"some: not counted: why",
		"new: has no ceiling: ",
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := c.Check(seen[:1]); len(got) != 1 || !strings.HasPrefix(got[0], "some: has a ceiling and was not counted") {
		t.Errorf("a missing scenario: got %q", got)
	}
}

func TestReadCeilingRefuses(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{"unknown field": `{"live":{"blocks":1}}`, "no scenario": `{}`, "EOF": ``} {
		name := filepath.Join(t.TempDir(), "ceiling.json")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if c, err := ReadCeiling(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: got %v, %v, want %q", text, c, err, want)
		}
	}
	if _, err := ReadCeiling(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "make ceiling") {
		t.Errorf("no file: got %v", err)
	}
}

// TestCommittedCeiling: the committed file has every scenario that can be counted and no other.
func TestCommittedCeiling(t *testing.T) {
	t.Parallel()
	c, err := ReadCeiling("ceiling.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Scenarios() {
		if _, ok := c[s.Name]; ok != (s.Missing == "") {
			t.Errorf("%s: in the ceiling: %v", s.Name, ok)
		}
		delete(c, s.Name)
	}
	for name := range c {
		t.Errorf("%s: not a scenario", name)
	}
}

// TestCompare: a scenario fails by more than 2 %, or by more than twice its spread where that is larger.
func TestCompare(t *testing.T) {
	t.Parallel()
	before := []document.Row{row("a", 1000, 0, 0), row("b", 1000, 0, 0), row("gone", 1, 0, 0)}
	c := Ceiling{"b": {Spread: 0.02}}
	for _, now := range []int64{900, 1000, 1019} {
		if got := Compare(before, []document.Row{row("a", now, 0, 0), row("new", 9, 0, 0)}, c); len(got) > 0 {
			t.Errorf("%d: got %q", now, got)
		}
	}
	got := Compare(before, []document.Row{row("a", 1021, 0, 0), row("b", 1039, 0, 0)}, c)
	if len(got) != 1 || got[0] != "a: 1021.0 instructions per message, 2.1 % more than the 1000.0 of the baseline; 2.0 % are allowed" {
		t.Errorf("got %q", got)
	}
	if got := Compare(before, []document.Row{row("b", 1041, 0, 0)}, c); len(got) != 1 {
		t.Errorf("b above twice its spread: got %q", got)
	}
}

// TestFastJSON: the committed counts bear out what docs/codecs.md says of the fast codec: about a sixth of the plain one's
// instructions to decode, a third to encode.
func TestFastJSON(t *testing.T) {
	t.Parallel()
	c, err := ReadCeiling("ceiling.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, about := range map[string]float64{"decode": 6, "encode": 3} {
		plain, fast := c[name+"-json"].Instructions, c[name+"-fastjson"].Instructions
		if times := plain / fast; !(times > about*0.8 && times < about*1.3) {
			t.Errorf("%s: %.0f instructions by the plain codec and %.0f by the fast one, want about %v times", name, plain, fast, about)
		}
	}
}
