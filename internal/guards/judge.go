package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
func (t *trial) judge(ctx context.Context, g guard) (verdict, string, error) {
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
	v, out := t.test(ctx, g, "-overlay", list)
	return v, out, nil
}

// test runs the guard's test with further flags of go test.
func (t *trial) test(ctx context.Context, g guard, flags ...string) (verdict, string) {
	args := append([]string{"test", "-count=1", "-vet=off", "-timeout", t.timeout.String(), "-run", pattern(g.test)}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, g.pkg)...)
	cmd.Dir = t.root
	b, err := cmd.CombinedOutput()
	return read(string(b), err == nil), string(b)
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
