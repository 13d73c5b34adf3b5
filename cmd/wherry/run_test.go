package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// TestMain starts the signal loop of package os/signal, which would else belong to the bubble that first listens. It is the
// command itself where it is started as "wherry bench", by the benchmark for a cell or by a test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		os.Exit(run(context.Background(), os.Args[1:], streams{in: os.Stdin, out: os.Stdout, errs: os.Stderr}))
	}
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	dir, err := os.MkdirTemp("", "wherry-command-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binaryDir = dir
	m.Run()
}

// result is what came of a command.
type result struct {
	status int
	out    string
	errs   string
}

// inBubble runs a command under virtual time. A goroutine that it leaves behind fails the test.
func inBubble(t *testing.T, in io.Reader, args ...string) result {
	t.Helper()
	var r result
	synctest.Test(t, func(t *testing.T) { r = runCommand(t.Context(), in, args...) })
	return r
}

func runCommand(ctx context.Context, in io.Reader, args ...string) result {
	var out, errs bytes.Buffer
	status := run(ctx, args, streams{in: in, out: &out, errs: &errs})
	return result{status, out.String(), errs.String()}
}

// accounts are the numbers of the last line.
type accounts struct {
	published, handled, retried, dead, lost, duplicated int
}

var lastLine = regexp.MustCompile(`\npublished=(\d+) handled=(\d+) retried=(\d+) dead=(\d+) lost=(\d+) duplicated=(\d+)\n$`)

// accounts reads the last line, and checks that the sums add up.
func (r *result) accounts(t *testing.T) accounts {
	t.Helper()
	m := lastLine.FindStringSubmatch(r.out)
	if m == nil {
		t.Fatalf("the output does not end with the accounts:\n%s\nerrors:\n%s", r.out, r.errs)
	}
	var n [6]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+1])
	}
	a := accounts{n[0], n[1], n[2], n[3], n[4], n[5]}
	if a.published != a.handled+a.dead+a.lost {
		t.Errorf("published is not handled, dead and lost together: %+v", a)
	}
	return a
}

// want fails the test unless the command ended so.
func (r *result) want(t *testing.T, status int, out, errs []string) {
	t.Helper()
	if r.status != status {
		t.Errorf("status %d, want %d", r.status, status)
	}
	for _, text := range out {
		if !strings.Contains(r.out, text) {
			t.Errorf("the output lacks %q", text)
		}
	}
	for _, text := range errs {
		if !strings.Contains(r.errs, text) {
			t.Errorf("the errors lack %q", text)
		}
	}
	if len(errs) == 0 && r.errs != "" {
		t.Error("there are errors")
	}
	if t.Failed() {
		t.Logf("output:\n%s\nerrors:\n%s", r.out, r.errs)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args   []string
		status int
		out    []string
		errs   []string
	}{
		"nothing":            {nil, 0, []string{"Usage: wherry <command>", "demo", "version"}, nil},
		"help":               {[]string{"help"}, 0, []string{"Usage: wherry <command>"}, nil},
		"help flag":          {[]string{"--help"}, 0, []string{"Usage: wherry <command>"}, nil},
		"help for a command": {[]string{"help", "demo"}, 0, []string{"--rate=N", "exit status is 0 only if none"}, nil},
		"help flag there":    {[]string{"demo", "-h"}, 0, []string{"--rate=N"}, nil},
		"help for no command": {
			[]string{"help", "nothing"}, 2, nil, []string{"unexpected argument nothing", "Run 'wherry --help'"},
		},
		"version":         {[]string{"version"}, 0, []string{"wherry ", "go1."}, nil},
		"version flag":    {[]string{"--version"}, 0, []string{"wherry ", "go1."}, nil},
		"no such command": {[]string{"dem"}, 2, nil, []string{`did you mean "demo"`, "Run 'wherry --help'"}},
		"no such flag":    {[]string{"demo", "--rat", "3"}, 2, nil, []string{`did you mean "--rate"`, "Run 'wherry demo --help'"}},
		"rate":            {[]string{"demo", "--rate", "fast"}, 2, nil, []string{"--rate", `"fast"`}},
		"negative rate":   {[]string{"demo", "--rate=-1"}, 2, nil, []string{"--rate is -1, want 0 or more"}},
		"negative apart":  {[]string{"demo", "--rate", "-1"}, 2, nil, []string{"wherry demo: --rate is -1, want 0 or more\n"}},
		"negative span":   {[]string{"demo", "--duration", "-1s"}, 2, nil, []string{"wherry demo: --duration is -1s, want 0 or more\n"}},
		"duration":        {[]string{"demo", "--duration", "10"}, 2, nil, []string{"--duration", `"10"`}},
		"negative time":   {[]string{"demo", "--duration=-1s"}, 2, nil, []string{"--duration is -1s, want 0 or more"}},
		"fault":           {[]string{"demo", "--fault", "fire"}, 2, nil, []string{"want drop, duplicate or stall"}},
		"argument":        {[]string{"demo", "orders.jsonl"}, 2, nil, []string{"unexpected argument orders.jsonl"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := runCommand(t.Context(), strings.NewReader(""), test.args...)
			r.want(t, test.status, test.out, test.errs)
		})
	}
}
