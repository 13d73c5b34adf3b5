package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A verdict is what a test said.
type verdict string

const (
	// failed is wanted without the guard.
	failed verdict = "failed"
	// passed is wanted with the guard only.
	passed verdict = "passed"
	// unbuilt is a change that does not compile, which shows nothing.
	unbuilt verdict = "does not compile"
	// absent is a test that does not exist.
	absent verdict = "no such test"
	// stale is a guard whose text is no longer in its file.
	stale verdict = "stale"
	// broken is a test that fails with its guard in place.
	broken verdict = "fails with the guard"
)

// judge runs the guard's test without the guard. The tree is not changed: the go command reads the changed files from
// elsewhere. The second result explains a verdict other than failed.
func (t *trial) judge(ctx context.Context, g *guard) (verdict, string, error) {
	files, err := g.without(os.DirFS(t.root))
	if err != nil {
		return stale, err.Error(), nil
	}
	dir, err := os.MkdirTemp("", "guards")
	if err != nil {
		return "", "", fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)

	overlay := struct {
		Replace map[string]string `json:"Replace"`
	}{map[string]string{}}
	for name, text := range files {
		changed := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", "", fmt.Errorf("write: %w", err)
		}
		overlay.Replace[filepath.Join(t.root, name)] = changed
	}
	b, err := json.Marshal(overlay)
	if err != nil {
		return "", "", fmt.Errorf("encode: %w", err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, b, 0o600); err != nil {
		return "", "", fmt.Errorf("write: %w", err)
	}
	for try := 1; ; try++ {
		out, err := t.test(ctx, t.timeout, g.pkg, pattern(g.test), "-overlay", list)
		if v := read(out, err == nil); v != passed || try == tries {
			return v, out, nil
		}
	}
}

// tries is how often a test has to pass without its guard before nobody is said to miss that. Which goroutine comes first is
// chance in some tests, and they miss their guard in nearly every run.
const tries = 3

// test runs tests of a package with further flags of go test, and returns what it printed.
func (t *trial) test(ctx context.Context, timeout time.Duration, pkg, run string, flags ...string) (string, error) {
	args := append([]string{"test", "-count=1", "-vet=off", "-ldflags=-s -w", "-timeout", timeout.String(), "-run", run}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = t.root
	// The go command ends the test that it runs when it is interrupted, and not when it is killed.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = timeout
	b, err := cmd.CombinedOutput()
	return string(b), err
}

// A baseline is what the tests of a package say with every guard in place.
type baseline struct {
	verdicts map[string]verdict // by test
	out      string
}

// before runs the tests of all guards with the guards in place: one that fails anyhow would show nothing.
func (t *trial) before(ctx context.Context, guards []*guard) map[string]baseline {
	tests := map[string][]string{}
	for _, g := range guards {
		tests[g.pkg] = append(tests[g.pkg], g.test)
	}
	all := map[string]baseline{}
	for pkg, names := range tests {
		var tops []string
		for _, name := range names {
			top, _, _ := strings.Cut(name, "/")
			tops = append(tops, top)
		}
		slices.Sort(tops)
		run := "^(" + strings.Join(slices.Compact(tops), "|") + ")$"
		out, err := t.test(ctx, time.Duration(len(tops))*t.timeout, pkg, run, "-v")
		b := baseline{map[string]verdict{}, out}
		for _, name := range names {
			b.verdicts[name] = readOne(out, name, err == nil)
		}
		all[pkg] = b
	}
	return all
}

// readOne judges one test by the verbose output of several.
func readOne(out, name string, ok bool) verdict {
	switch {
	case strings.Contains(out, "--- PASS: "+name+" ("):
		return passed
	case strings.Contains(out, "--- FAIL: "+name+" ("):
		return broken
	case ok:
		return absent
	default:
		// It was not reached, or nothing was.
		if v := read(out, ok); v != failed {
			return v
		}
		return broken
	}
}

// pattern returns what makes -run choose exactly one test, or one sub-test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + p + "$"
	}
	return strings.Join(parts, "/")
}

// read judges the output of go test.
func read(out string, ok bool) verdict {
	switch {
	case strings.Contains(out, "no tests to run") || strings.Contains(out, "[no test files]"):
		return absent
	case ok:
		return passed
	case strings.Contains(out, "--- FAIL: ") || strings.Contains(out, "panic: ") || strings.Contains(out, "fatal error: "):
		return failed
	default:
		return unbuilt
	}
}
