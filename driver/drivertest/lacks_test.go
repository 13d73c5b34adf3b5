package drivertest

import (
	"slices"
	"testing"

	"github.com/wherryhq/wherry/driver"
)

// With it the suite runs on a broker in process, and what needs a hook is counted as not run.
func TestLacksInProcess(t *testing.T) { //nolint:tparallel // Run makes its sub-tests parallel itself, where it can.
	t.Parallel()
	lacks := LacksInProcess()
	hooks := (&Harness{}).hooks()
	for name := range hooks {
		if lacks[name] == "" {
			t.Errorf("it says nothing of the hook %s", name)
		}
	}
	h := Harness{
		Virtual: true, Messages: 80, MaxRecord: 128 << 10, Lacks: lacks,
		Setup: func(_ testing.TB, h *Harness) {
			b := broken{}.new()
			h.Open = func(testing.TB) driver.Broker { return &queueBroker{Broker: b, b: b, refuses: true} }
		},
	}
	if wrong := h.misfits(Cases(), hooks); len(wrong) > 0 {
		t.Errorf("%q", wrong)
	}
	LacksInProcess()[HookCut] = "changed"
	if LacksInProcess()[HookCut] == "changed" {
		t.Error("a change of the map is seen by others")
	}
	Run(t, h, Case{
		Name: "own/inject", Sentence: "It is not run without the hook.", Hooks: []string{HookInject},
		Run: func(t *T) { t.Errorf("it was run") },
	})
	if found := Find(t, h); !slices.Contains(found, Queue) {
		t.Errorf("found %v", found)
	}
}
