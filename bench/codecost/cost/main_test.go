package main

import (
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-profile live hand":                "a profile is of one scenario: got 2 (live hand)",
		"-profile all":                      "a profile is of one scenario: got 0 ()",
		"-gate live":                        "-gate and -rewrite are about all scenarios: name none",
		"-rewrite -no-instructions":         "-rewrite with -no-instructions",
		"-baseline x -no-instructions live": "-baseline compares instructions",
		"-rewrite live":                     "-gate and -rewrite are about all scenarios: name none",
		"-tree /nowhere liv":                `no scenario is called "liv"`,
		"-against nowhere live":             "open nowhere: ",
		"-n 5 -tree / live":                 "5 messages are too few",
		"-baseline x -tree / -n":            "flag needs an argument: -n",
	} {
		if err := cost(t.Context(), strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}

// TestNothingCompared: a baseline at which nothing could be counted does not pass.
func TestNothingCompared(t *testing.T) {
	t.Parallel()
	counted := func(flow string) document.Row {
		run := document.CodeRun{N: 1000, InstrN: 1e6, Instr2N: 17e5}
		return document.Row{Cell: document.Cell{Flow: flow}, Method: document.Count, Code: &document.Code{Runs: []document.CodeRun{run}}}
	}
	failed := document.Row{Cell: document.Cell{Flow: "live"}, NotShown: &document.Reason{Code: document.Failed, Text: "exit status 2"}}
	s := settings{baseline: "HEAD~3"}
	s.Tree = "../../.."
	now := []document.Row{counted("live")}
	if err := s.judge(now, []document.Row{failed}); err == nil || !strings.HasPrefix(err.Error(), "nothing is compared: ") {
		t.Errorf("with no count at the baseline: %v", err)
	}
	if err := s.judge(now, now); err != nil {
		t.Errorf("with the same: %v", err)
	}
}
