package codecost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/progress"
)

// leastChange is the smallest share by which instructions must grow to be a finding.
const leastChange = 0.02

// Baseline counts the scenarios of the program at a commit, which it checks out into a folder of its own and removes
// again. Scenarios that the program there does not know yet are rows that say so, without an error.
func Baseline(ctx context.Context, ref string, o Options, meter progress.Meter) (rows []document.Row, err error) {
	o = o.withDefaults()
	dir, err := os.MkdirTemp("", "wherry-baseline-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	if err := git(ctx, o.Tree, "worktree", "add", "--detach", "--quiet", tree, ref); err != nil {
		return nil, fmt.Errorf("check out the baseline %q: %w", ref, err)
	}
	defer func() {
		err = errors.Join(err, git(context.WithoutCancel(ctx), o.Tree, "worktree", "remove", "--force", tree))
	}()
	if _, err := os.Stat(filepath.Join(tree, "bench", "codecost", "counted")); err != nil {
		return nil, fmt.Errorf("the baseline %q has no bench/codecost/counted: it is older than what counts instructions", ref)
	}
	o.Tree = tree
	rows, err = Run(ctx, o, meter)
	if ctx.Err() == nil && rows != nil {
		err = nil
	}
	return rows, err
}

// Compared is how many scenarios have instructions on both sides, so that [Compare] says something of them.
func Compared(before, now []document.Row) int {
	old := make(map[string]bool, len(before))
	for _, r := range before {
		old[r.Flow] = r.Code != nil && hasInstructions(r.Code)
	}
	n := 0
	for _, r := range now {
		if old[r.Flow] && r.Code != nil && hasInstructions(r.Code) {
			n++
		}
	}
	return n
}

func git(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", strings.Join(args[:2], " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Compare returns the scenarios that take more instructions in now than in before, by more than the larger of 2 % and twice
// the spread: the largest of those of both rows and of the ceiling, which comes from more runs. Rows without a count on one
// side are left out of it.
func Compare(before, now []document.Row, c Ceiling) []string {
	old := make(map[string]*document.Code, len(before))
	for _, r := range derived(before) {
		old[r.Flow] = r.Code
	}
	var wrong []string
	for _, r := range derived(now) {
		was := old[r.Flow]
		if was == nil || r.Code == nil || !hasInstructions(was) || !hasInstructions(r.Code) {
			continue
		}
		allowed := max(leastChange, 2*max(was.Spread, r.Code.Spread, c[r.Flow].Spread))
		if grown := r.Code.Instructions/was.Instructions - 1; grown > allowed {
			wrong = append(wrong, fmt.Sprintf("%s: %.1f instructions per message, %.1f %% more than the %.1f of the baseline; %.1f %% are allowed",
				r.Flow, r.Code.Instructions, 100*grown, was.Instructions, 100*allowed))
		}
	}
	return wrong
}
