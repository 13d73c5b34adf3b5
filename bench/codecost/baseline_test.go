package codecost

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

// repository is a git repository of one empty commit.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false", "commit", "--quiet", "--allow-empty", "-m", "one"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestBaselineRefuses: a commit that does not exist, or has nothing to count by, is an error that says so, and no folder
// stays checked out.
func TestBaselineRefuses(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	for ref, want := range map[string]string{
		"nowhere": `check out the baseline "nowhere"`,
		"HEAD":    `the baseline "HEAD" has no bench/codecost/counted`,
	} {
		rows, err := Baseline(t.Context(), ref, Options{Tree: dir}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || rows != nil {
			t.Errorf("%s: got %d rows and %v, want %q", ref, len(rows), err, want)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".git", "worktrees", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestProfileRefuses(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"liv": `no scenario is called "liv"`, "flow": "flows are not there yet"} {
		if text, err := Profile(t.Context(), name, Options{}); err == nil || !strings.Contains(err.Error(), want) || text != "" {
			t.Errorf("%s: got %q, %v, want %q", name, text, err, want)
		}
	}
}

// TestCompared: what was not counted on one side is not compared.
func TestCompared(t *testing.T) {
	t.Parallel()
	failed := document.Row{Cell: document.Cell{Flow: "b"}, NotShown: &document.Reason{Code: document.Failed, Text: "why"}}
	alone := row("c", 0, 0, 0)
	alone.Code.Runs[0].InstrN, alone.Code.Runs[0].Instr2N = 0, 0
	now := []document.Row{row("a", 700, 0, 0), row("b", 700, 0, 0), row("c", 700, 0, 0), row("new", 700, 0, 0)}
	if n := Compared([]document.Row{row("a", 700, 0, 0), failed, alone, row("gone", 1, 0, 0)}, now); n != 1 {
		t.Errorf("%d are compared, want a alone", n)
	}
}
