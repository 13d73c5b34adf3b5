package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/versus"
)

// few are cells that are measured within a second.
const few = "subject=go-channel-bare flow=parallel payload=64 consumers=1,2 procs=2"

func quick(out string, args ...string) []string {
	return append([]string{"run", "mem", "--quick", "--only", few, "--out", out}, args...)
}

func read(t *testing.T, name string) *document.Document {
	t.Helper()
	d, err := document.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestBenchRun(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "results.json")
	r := bench(t, quick(out)...)
	if r.status != 0 {
		t.Fatalf("status %d\n%s\n%s", r.status, r.out, r.errs)
	}
	part := read(t, out).Backend("mem").Matrix
	if len(part.Rows) != 2 || !part.Provenance.Quick || !strings.Contains(r.out, "2 cells, 0 without a value") {
		t.Errorf("%d rows of %+v, and said was:\n%s", len(part.Rows), part.Provenance, r.out)
	}
	if log, err := os.ReadFile(strings.TrimSuffix(out, ".json") + ".log"); err != nil || !strings.Contains(string(log), "[2/2] ") {
		t.Errorf("the log is %q, %v", log, err)
	}

	r = bench(t, quick(out)...)
	if read(t, out).Backend("mem").Matrix.Provenance.Date < part.Provenance.Date || r.status != 0 {
		t.Errorf("the part was not replaced:\n%s", r.errs)
	}
	r = bench(t, quick(out, "--only", "subject=go-channel-bare consumers=4 procs=2")...)
	r.want(t, 1, nil, []string{"has 2 cells of mem/matrix, and 2 of them are not measured now", "--fresh"})
	full := quick(out)
	full = append(full[:2:2], full[3:]...)
	r = bench(t, full...)
	r.want(t, 1, nil, []string{"length of the runs: full, and mem/matrix of the document has quick", "--fresh"})

	r = bench(t, quick(out, "--fresh", "--only", "subject=go-channel-bare consumers=4 procs=2")...)
	aside, err := filepath.Glob(filepath.Join(filepath.Dir(out), "results.*Z.json"))
	if err != nil || len(aside) != 1 || r.status != 0 || !strings.Contains(r.errs, aside[0]) {
		t.Fatalf("status %d, moved aside is %q, said was:\n%s", r.status, aside, r.errs)
	}
	if old, fresh := read(t, aside[0]).Backends[0].Matrix, read(t, out).Backends[0].Matrix; len(old.Rows) != 2 || len(fresh.Rows) != 1 {
		t.Errorf("%d rows are moved aside, %d are fresh, want 2, 1", len(old.Rows), len(fresh.Rows))
	}
}

// TestBenchRunRefuses has a document that is not of this machine, and one that is wrong.
func TestBenchRunRefuses(t *testing.T) {
	t.Parallel()
	other := resultsOf(t, 2e9, "6.8")
	before, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	r := bench(t, quick(other)...)
	r.want(t, 1, nil, []string{"CPU: ", "the host of the document has Example CPU 9000", "kernel: ", "--fresh"})
	if after, err := os.ReadFile(other); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the document was changed: %v", err)
	}
	replaced(t, other, `"best": 1000000`, `"best": 1000001`)
	r = bench(t, quick(other)...)
	r.want(t, 1, nil, []string{"rows[0].summary.best: is 1000001", "nothing is written into it: write to another file (--out)"})
}

// pull ends a context as soon as a text is written.
type pull struct {
	mu   sync.Mutex
	text bytes.Buffer
	at   string
	end  context.CancelFunc
}

func (p *pull) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if bytes.Contains(data, []byte(p.at)) {
		p.end()
	}
	return p.text.Write(data)
}

func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "results.json")
	interrupted := func(at string) (status int, errs string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := &pull{at: at, end: cancel}
		status = run(ctx, append([]string{"bench"}, quick(out)...), streams{in: strings.NewReader(""), out: new(bytes.Buffer), errs: p})
		return status, p.text.String()
	}
	status, errs := interrupted("steps, about")
	if _, err := os.Stat(out); err == nil || !strings.Contains(errs, "mem/matrix: nothing is written: interrupted before the first run was over") || status != statusInterrupted {
		t.Errorf("interrupted before anything was measured: status %d, said was:\n%s", status, errs)
	}
	status, errs = interrupted("[1/2]")
	rows := read(t, out).Backends[0].Matrix.Rows
	missing := 0
	for i := range rows {
		if rows[i].NotShown == nil {
			continue
		}
		missing++
		if want := (document.Reason{Code: document.NotMeasured, Text: document.Interrupted}); *rows[i].NotShown != want {
			t.Errorf("%s: %+v", rows[i].Cell, rows[i].NotShown)
		}
	}
	if status != statusInterrupted || len(rows) != 2 || missing != 1 || strings.Count(errs, "missing: go-channel-bare") != 1 {
		t.Errorf("status %d, %d of %d rows are missing, said was:\n%s", status, missing, len(rows), errs)
	}

	// What is whole is kept when its successor is not.
	if r := bench(t, quick(out)...); r.status != 0 {
		t.Fatal(r.errs)
	}
	whole := read(t, out).Backends[0].Matrix.Seal
	if _, errs = interrupted("[1/2]"); !strings.Contains(errs, "mem/matrix of "+out+" stays as it was") || read(t, out).Backends[0].Matrix.Seal != whole {
		t.Errorf("the whole part is gone:\n%s", errs)
	}
}

func TestBenchUsage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args   []string
		status int
		out    []string
		errs   []string
	}{
		"nothing":    {nil, 2, nil, []string{"the commands are run, code, peers, show, check, compare, charts, page\n"}},
		"unknown":    {[]string{"foo"}, 2, nil, []string{"unexpected argument foo; the commands are run, code, peers, show,"}},
		"help":       {[]string{"--help"}, 0, []string{"bench run", "bench compare"}, nil},
		"dry run":    {[]string{"run", "mem", "--dry-run"}, 0, []string{"mem/matrix\n", "mem/levers\n", " cells", "about "}, nil},
		"part":       {[]string{"run", "mem", "--part", "levers", "--dry-run"}, 0, []string{"mem/levers\n"}, nil},
		"no part":    {[]string{"run", "mem", "--part", "code"}, 2, nil, []string{`must be one of "matrix","levers"`}},
		"no backend": {[]string{"run", "kafka"}, 2, nil, []string{`there is no backend "kafka"`}},
		"only":       {[]string{"run", "mem", "--only", "flow=fly"}, 2, nil, []string{"no cell has flow=fly; the values are"}},
		"code":       {[]string{"code", "--dry-run"}, 0, []string{"mem/code\n", " scenarios, about "}, nil},
		"no scenario": {
			[]string{"code", "--only", "nothing"}, 2, nil, []string{`there is no scenario "nothing"; --dry-run lists them`},
		},
		"scenarios": {
			[]string{"code", "--only", "consume json, live-2 live", "--dry-run"},
			0,
			[]string{"mem/code\nlive\nlive-2\nconsume-json\n3 scenarios, about "},
			nil,
		},
		"scenario":      {[]string{"code", "--only", "live", "--dry-run"}, 0, []string{"\n1 scenario, about "}, nil},
		"help of code":  {[]string{"code", "--help"}, 0, []string{"wherry bench code --only 'live, consume-json'", "results.interrupted-TIME.json"}, nil},
		"help of run":   {[]string{"run", "--help"}, 0, []string{"with .log for .json", "cells whose every run was made"}, nil},
		"help of show":  {[]string{"show", "--help"}, 0, []string{"Default results.json."}, nil},
		"help of check": {[]string{"check", "--help"}, 0, []string{"Default results.json.", "A seal is a checksum"}, nil},
		"peers":         {[]string{"peers", "--dry-run"}, 0, []string{"mem/peers\n", "watermill"}, nil},
		"no peer":       {[]string{"peers", "--only", "subject=smith"}, 2, nil, []string{"no cell has subject=smith"}},
		"charts":        {[]string{"charts"}, 2, nil, []string{"missing flags: --out=DIR"}},
		"bad cell":      {[]string{"cell", "--nothing"}, 1, []string{`"none":`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := bench(t, test.args...)
			r.want(t, test.status, test.out, test.errs)
		})
	}
}

// TestBenchDryRunSaysTheTime has what is listed take as long as what is planned.
func TestBenchDryRunSaysTheTime(t *testing.T) {
	t.Parallel()
	sum := regexp.MustCompile(`\d+ cells? +about (\S+)\n`)
	about := func(args ...string) time.Duration {
		t.Helper()
		r := bench(t, append(args, "--dry-run")...)
		lines := sum.FindAllStringSubmatch(r.out, -1)
		if r.status != 0 || len(lines) != 1 {
			t.Fatalf("%q: status %d, %d sums of\n%s%s", args, r.status, len(lines), r.out, r.errs)
		}
		d, err := time.ParseDuration(lines[0][1])
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	run := []string{"run", "mem", "--part", "levers"}
	if long, short := about(run...), about(append(run, "--quick")...); short < time.Second || short > long/2 {
		t.Errorf("the levers take %v, and %v in a quick run", long, short)
	}
	if about("run", "mem", "--part", "levers", "--part", "levers") != about(run...) {
		t.Error("what is named twice is measured twice")
	}
	var all time.Duration
	for _, s := range versus.Cells() {
		all += versus.Options{}.Expected(&s)
	}
	if long, short := about("peers"), about("peers", "--quick"); long != all.Round(time.Second) || short > long/2 {
		t.Errorf("the peers take %v, of %v that are planned, and %v in a quick run", long, all, short)
	}
}

// TestBenchDryRunWithoutClone lists what would be measured where nothing could be built. It is not parallel, since the working
// directory is that of the whole process.
func TestBenchDryRunWithoutClone(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{{"code", "--dry-run"}, {"peers", "--dry-run"}} {
		r := bench(t, args...)
		r.want(t, 0, []string{"mem/" + args[0] + "\n"}, nil)
	}
	for _, args := range [][]string{{"code"}, {"peers"}} {
		r := bench(t, args...)
		r.want(t, 1, nil, []string{"is in no clone of the repository"})
	}
	r := bench(t, "code", "--only", "nothing")
	r.want(t, 2, nil, []string{`there is no scenario "nothing"`})
}
