package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wherryhq/wherry"
)

func TestExplainDemo(t *testing.T) {
	t.Parallel()
	r := inBubble(t, nil, "explain", "demo")
	if r.status != 0 || r.errs != "" {
		t.Fatalf("status %d, errors %q", r.status, r.errs)
	}
	for _, part := range []string{
		"payment\n  source\n    group payment of topic orders on *mem.Broker, single messages\n",
		"report\n  source\n    group report of topic orders on *mem.Broker, batches\n",
		"  delivery: at least once\n", "after failure 1: ", "with its handler\n",
	} {
		if !strings.Contains(r.out, part) {
			t.Errorf("%q is not in\n%s", part, r.out)
		}
	}

	r = inBubble(t, nil, "explain", "demo", "--json")
	var x wherry.Explanation
	if err := json.Unmarshal([]byte(r.out), &x); err != nil || r.status != 0 {
		t.Fatalf("status %d, %v", r.status, err)
	}
	if len(x.Consumers) != 4 || len(x.Others) != 0 {
		t.Errorf("%d consumers and %d others, want 4 and none", len(x.Consumers), len(x.Others))
	}
}

func TestExplainMisused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"explain"}, {"explain", "mine"}} {
		if r := inBubble(t, nil, args...); r.status != statusUsage || !strings.Contains(r.errs, "wherry explain --help") {
			t.Errorf("%v: status %d, errors %q", args, r.status, r.errs)
		}
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What cannot be written is an error, not a short answer.
func TestExplainIntoAFullDisk(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"explain", "demo"}, {"explain", "demo", "--json"}} {
		var errs strings.Builder
		if status := run(t.Context(), args, streams{out: fullDisk{}, errs: &errs, in: strings.NewReader("")}); status != 1 {
			t.Errorf("%v: status %d, want 1", args, status)
		}
		if !strings.Contains(errs.String(), "wherry explain: no space left") {
			t.Errorf("%v: errors %q", args, errs.String())
		}
	}
}
