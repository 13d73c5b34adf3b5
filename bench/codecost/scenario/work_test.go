package scenario_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/codecost/scenario"
)

// codecs are those that a scenario may be done with.
var codecs = []string{"bytesview", "json", "fastjson"}

// TestEveryScenarioEnds: each is done, by each codec, with one and with several handlers, and calls back once.
func TestEveryScenarioEnds(t *testing.T) {
	t.Parallel()
	for _, name := range scenario.Names() {
		for _, codec := range codecs {
			if name == "encode" && codec == "bytesview" {
				continue
			}
			for _, consumers := range []int{1, 4} {
				w := scenario.Work{Scenario: name, Codec: codec, N: 300, Ready: 600, Consumers: consumers, Workers: consumers}
				t.Run(name+" "+codec, func(t *testing.T) {
					t.Parallel()
					done(t, w)
				})
			}
		}
	}
}

func TestEveryMiddleware(t *testing.T) {
	t.Parallel()
	for _, name := range scenario.Middlewares() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done(t, scenario.Work{Scenario: "consume", N: 200, Ready: 400, Middleware: name, Times: 2})
		})
	}
}

// done does the work, which must call back exactly once.
func done(t *testing.T, w scenario.Work) {
	t.Helper()
	calls := 0
	if err := scenario.Run(t.Context(), w, func() { calls++ }); err != nil {
		t.Fatal(err)
	}
	if calls != 1 {
		t.Fatalf("called back %d times, want once", calls)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]scenario.Work{
		`unknown scenario "liv": want one of batch, `: {Scenario: "liv", N: 1},
		"0 messages: want at least 1":                 {Scenario: "live"},
		`unknown codec "xml": want bytesview, `:       {Scenario: "live", N: 1, Codec: "xml"},
		`unknown middleware "x": want one of audit, `: {Scenario: "consume", N: 1, Middleware: "x"},
	} {
		err := scenario.Run(t.Context(), w, func() { t.Errorf("%+v was done", w) })
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", w, err, want)
		}
	}
}

// TestInterrupted: a scenario whose context ended says so instead of waiting for messages.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"live", "consume", "hand"} {
		if err := scenario.Run(ctx, scenario.Work{Scenario: name, N: 100}, func() { t.Error("counted") }); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestBody: the JSON of the scenarios has the 128 bytes that their rows state, whoever writes it.
func TestBody(t *testing.T) {
	t.Parallel()
	body, err := json.Marshal(scenario.Sample())
	if err != nil {
		t.Fatal(err)
	}
	if string(body) != scenario.Body || len(body) != 128 {
		t.Errorf("%s has %d bytes, want the 128 of %s", body, len(body), scenario.Body)
	}
}
