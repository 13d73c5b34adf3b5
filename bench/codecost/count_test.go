package codecost

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/codecost/scenario"
	"github.com/wherryhq/wherry/bench/document"
)

// TestScenarios: each is known to the program, unlike any other, and compared with one that exists.
func TestScenarios(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		if seen[s.Name] {
			t.Errorf("%s is there twice", s.Name)
		}
		seen[s.Name] = true
		if s.Missing != "" {
			continue
		}
		if !slices.Contains(scenario.Names(), s.work) {
			t.Errorf("%s: the program has no scenario %q", s.Name, s.work)
		}
		if s.middleware != "" && !slices.Contains(scenario.Middlewares(), s.middleware) {
			t.Errorf("%s: the program has no middleware %q", s.Name, s.middleware)
		}
	}
	for _, s := range Scenarios() {
		if s.Over != "" && !seen[s.Over] {
			t.Errorf("%s is compared with %q, which does not exist", s.Name, s.Over)
		}
	}
}

func TestCount(t *testing.T) { //nolint:paralleltest // What stands in for valgrind is told by the environment.
	p := fakeProgram(t, 700, 500_000, 2)
	o := Options{Runs: 2}.withDefaults()
	some, err := find([]string{"live", "channel", "flow"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.count(t.Context(), o, some, nil)
	if err != nil {
		t.Fatal(err)
	}
	part := document.Part{Rows: rows}
	part.Derive()
	if len(rows) != 3 || rows[0].Flow != "channel" || rows[1].Flow != "live" || rows[2].Flow != "flow" {
		t.Fatalf("got rows %+v", rows)
	}
	live := part.Rows[1].Code
	if live.Instructions != 700 || live.Allocations != 2 || live.Bytes != 128 || live.Spread != 0 || *live.More != 0 {
		t.Errorf("live: got %+v", live)
	}
	if r := live.Runs[1]; r.ColdInstr != 500_700 || r.ColdBlocks != 202 || r.N != defaultMessages {
		t.Errorf("live: got run %+v", r)
	}
	if missing := rows[2].NotShown; missing == nil || missing.Code != document.Unsupported {
		t.Errorf("flow: got %+v, want unsupported", missing)
	}
}

// TestGuards: counts that cannot be the messages' are failures with their reason, in the row and in the error.
func TestGuards(t *testing.T) { //nolint:paralleltest // What stands in for valgrind is told by the environment.
	//nolint:paralleltest // As above.
	for _, c := range []struct {
		name         string
		slope, start int
		want         string
	}{
		{"flat", 0, 500_000, "does not grow with the messages"},
		{"below the floor", 1, 10, "fewer than the 200000 that a process takes to start"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fakeProgram(t, c.slope, c.start, 1)
			some, err := find([]string{"live"})
			if err != nil {
				t.Fatal(err)
			}
			rows, err := p.count(t.Context(), Options{Runs: 1}.withDefaults(), some, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "live: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want %q", err, c.want)
			}
			if r := rows[0]; r.Code != nil || r.NotShown == nil || r.NotShown.Code != document.Failed || !strings.Contains(r.NotShown.Text, c.want) {
				t.Errorf("got row %+v", r)
			}
		})
	}
}

func TestInterrupted(t *testing.T) { //nolint:paralleltest // What stands in for valgrind is told by the environment.
	p := fakeProgram(t, 700, 500_000, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	some, err := find([]string{"live", "hand"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := p.count(ctx, Options{}.withDefaults(), some, nil)
	if !errors.Is(err, context.Canceled) || len(rows) != 2 {
		t.Fatalf("got %d rows and %v", len(rows), err)
	}
	for _, r := range rows {
		if r.NotShown == nil || *r.NotShown != (document.Reason{Code: document.NotMeasured, Text: "interrupted"}) {
			t.Errorf("%s: got %+v, want not measured: interrupted", r.Flow, r.NotShown)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	t.Setenv("PATH", "")
	for want, o := range map[string]Options{
		`no scenario is called "liv": want one of channel, `:           {Only: []string{"liv"}},
		"100 messages are too few for a slope: want at least 20000":    {Messages: 100},
		"-1 runs: want at least 1":                                     {Runs: -1},
		`valgrind is not installed: instructions cannot be counted`:    {},
		"build github.com/wherryhq/wherry/bench/codecost/counted in .": {NoInstructions: true},
	} {
		rows, err := Run(t.Context(), o, nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || rows != nil {
			t.Errorf("%+v: got %d rows and %v, want %q", o, len(rows), err, want)
		}
	}
	if err := errNoValgrind; !strings.Contains(err.Error(), "apt-get install valgrind") {
		t.Errorf("%v does not say how to install it", err)
	}
}

// TestTotal: the total is read from both forms, and nothing else passes for one.
func TestTotal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"events: Ir\nsummary: 300000\n": 300_000,
		"fn=x\n1 2\ntotals: 456789\n":   456_789,
		"summary: 1\n":                  -1,
		"summary: many\n":               -1,
		"":                              -1,
	} {
		got, err := totalOf([]byte(text))
		if (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
	}
}

// TestEnvironment: what changes figures does not reach the processes, and what the method sets does.
func TestEnvironment(t *testing.T) {
	t.Setenv("GOFLAGS", "-race")
	t.Setenv("GOGC", "10")
	out, err := run(t.Context(), "env", nil)
	if err != nil {
		t.Fatal(err)
	}
	env := strings.Split(string(out), "\n")
	for _, v := range []string{"GOFLAGS=-race", "GOGC=10"} {
		if slices.Contains(env, v) {
			t.Errorf("%s is passed on", v)
		}
	}
	for _, v := range []string{"GOGC=off", "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1"} {
		if !slices.Contains(env, v) {
			t.Errorf("%s is not set", v)
		}
	}
}

// TestEndless: a process that does not end, as one that waits for a message which was lost, fails.
func TestEndless(t *testing.T) {
	t.Parallel()
	out, err := runWithin(t.Context(), 50*time.Millisecond, "sleep", []string{"600"})
	if err == nil || !strings.HasPrefix(err.Error(), "sleep 600: did not end within 50ms") || out != nil {
		t.Errorf("got %q, %v", out, err)
	}
}
