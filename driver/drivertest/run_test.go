package drivertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func TestRunOwnCases(t *testing.T) { //nolint:tparallel // Run makes its sub-tests parallel itself, where it can.
	t.Parallel()
	h := broken{}.harness()
	h.Lacks = map[string]string{
		HookCut: "no fault switches here", HookRevoke: "no fault switches here", HookInject: "no fault switches here",
		HookCutBeforeWrite: "no fault switches here", HookCutAfterWrite: "no fault switches here",
		HookWipe: "no fault switches here", HookRevokeTx: "no fault switches here",
	}
	ran := 0
	own := Case{
		Name: "own/one", Sentence: "A backend's own case runs with the others.", Needs: []Ability{Queue}, Alone: true,
		Run: func(t *T) {
			ran++
			first, second := t.Topic(), t.Topic()
			if t.Broker() == nil || first == second || t.Harness().Wait == 0 {
				t.Errorf("the case has no broker, no topics of its own, or no harness")
			}
		},
	}
	other := own
	other.Name, other.Needs = "own/other", []Ability{Durable}
	t.Cleanup(func() {
		if ran != 1 {
			t.Errorf("the own case ran %d times, the one that needs what the broker lacks included; want 1", ran)
		}
	})
	Run(t, h, own, other)
}

func TestRunCase(t *testing.T) {
	t.Parallel()
	RunCase(t, broken{}.harness(), "queue/settle/done")
}

func TestFind(t *testing.T) {
	t.Parallel()
	found := Find(t, broken{}.harness())
	for _, a := range []Ability{Queue, Group, Broadcast, Sequence, GroupSequence, Transact, Hold, Sized, Revoke, Waiting, Share, InspectReceiver, Delay, Inspect, Declare} {
		if !slices.Contains(found, a) {
			t.Errorf("%s was not found in %v", a, found)
		}
	}
	for _, a := range []Ability{Lease, Durable} {
		if slices.Contains(found, a) {
			t.Errorf("%s was found, and is not there", a)
		}
	}
}

func TestLacks(t *testing.T) {
	t.Parallel()
	hooks := map[string]bool{HookCut: true, HookInject: false}
	for name, c := range map[string]struct {
		lacks map[string]string
		wrong string
	}{
		"nothing":      {},
		"a hook":       {lacks: map[string]string{HookInject: "no client"}},
		"a case":       {lacks: map[string]string{"queue/settle/done": "the emulator forgets"}},
		"no such":      {lacks: map[string]string{"Ct": "typing"}, wrong: "neither a hook nor a case"},
		"it has it":    {lacks: map[string]string{HookCut: "stale"}, wrong: "which the harness has"},
		"without why":  {lacks: map[string]string{HookInject: ""}, wrong: "gives no reason"},
		"kind omitted": {lacks: map[string]string{"settle/done": "the emulator forgets"}, wrong: "neither a hook nor a case"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := Harness{Lacks: c.lacks}
			wrong := strings.Join(h.misfits(Cases(), hooks), "; ")
			if (c.wrong == "") != (wrong == "") || !strings.Contains(wrong, c.wrong) {
				t.Errorf("%q is wrong, want %q", wrong, c.wrong)
			}
		})
	}
}

func TestMissingHookFails(t *testing.T) {
	t.Parallel()
	err := caseNamed(t, "queue/fault/cut").Check(t, broken{}.harness())
	if err == nil || !strings.Contains(err.Error(), "has no Cut") {
		t.Errorf("%v, want an error that names the hook", err)
	}
}

func TestCaseReports(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  func(t *T)
		text string // in the result; "" is none
	}{
		"passes":  {run: func(*T) {}},
		"Errorf":  {run: func(t *T) { t.Errorf("number %d", 7) }, text: "run_test.go"},
		"Fatalf":  {run: func(t *T) { t.Fatalf("number %d", 7) }, text: "number 7"},
		"Fatal":   {run: func(t *T) { t.Fatal("a", 7) }, text: "a 7"},
		"FailNow": {run: func(t *T) { t.FailNow() }, text: "failed"},
		"Skip":    {run: func(t *T) { t.Skip("it is late") }, text: "cannot be skipped: it is late"},
		"Skipf":   {run: func(t *T) { t.Skipf("it is %s", "late") }, text: "cannot be skipped: it is late"},
		"SkipNow": {run: func(t *T) { t.SkipNow() }, text: "cannot be skipped"},
		"cleanup": {run: func(t *T) { t.Cleanup(func() { t.Fatal("late") }) }, text: "late"},
		"open context": {run: func(t *T) {
			if t.Context().Err() != nil {
				t.Error("the context has ended")
			}
			t.Cleanup(func() {
				if t.Context().Err() == nil {
					t.Error("the context has not ended")
				}
			})
		}},
		"goroutine": {
			run: func(t *T) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					t.Fatal("elsewhere")
				}()
				<-done
				t.Error("and here")
			},
			text: "and here",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Case{Name: "one", Run: c.run}.Check(t, broken{}.harness())
			switch {
			case c.text == "" && err != nil:
				t.Errorf("%v, want nil", err)
			case c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)):
				t.Errorf("%v, want %q in it", err, c.text)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	h := Harness{Topic: func(testing.TB) string { return "mine" }}.withDefaults()
	if h.Wait != 10*time.Second || h.Quiet != 500*time.Millisecond || h.Messages != 1000 || h.MaxRecord != 8<<20 {
		t.Errorf("defaults are %+v", h)
	}
	if h.Topic(t) != "mine" {
		t.Error("the harness's own names are not used")
	}
	names := map[string]bool{}
	for range 2 {
		h := Harness{}.withDefaults()
		for range 3 {
			names[h.Topic(t)] = true
		}
	}
	if len(names) != 6 {
		t.Errorf("of six names %d are different", len(names))
	}
}

func TestBrokerWithNothingToReceiveFails(t *testing.T) {
	t.Parallel()
	h := Harness{Virtual: true, Open: func(testing.TB) driver.Broker { return senderOnly{broken{}.new()} }}
	err := caseNamed(t, "topology/verify-sender").Check(t, h)
	if err == nil || !strings.Contains(err.Error(), "no way to receive") {
		t.Errorf("%v, want an error that says so", err)
	}
}

// senderOnly hides every ability of a broker.
type senderOnly struct{ driver.Broker }

// Brokers outside the process run in real time, without a bubble.
func TestRealTime(t *testing.T) {
	t.Parallel()
	h := plain(mem.Config{Lease: 2 * time.Second})
	h.Virtual, h.Wait, h.Quiet = false, 4*time.Second, 50*time.Millisecond
	for _, name := range []string{
		"send/limits", "queue/send/round-trip", "queue/receive/stop", "queue/close/beside-receive", "group/hold/due",
		"queue/delay/release", "queue/bounds/goroutines", "queue/fault/cut", "group/load/ledger", "queue/engine/dead-letter",
		"sequence/load/ledger", "group-sequence/order", "broadcast/all", "broadcast/slow",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			RunCase(t, h, name)
		})
	}
}
