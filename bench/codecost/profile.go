package codecost

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// profileTimes is how many times N a profile handles, so that the start of the process has a small share in it.
const profileTimes = 4

// Profile counts one scenario once and returns, as text, where the instructions are: by function, each with what it took
// by itself, then with what it called. It needs callgrind_annotate, which comes with valgrind.
func Profile(ctx context.Context, name string, o Options) (string, error) {
	o = o.withDefaults()
	found, err := find([]string{name})
	if err != nil {
		return "", err
	}
	if found[0].Missing != "" {
		return "", errors.New(name + ": " + found[0].Missing)
	}
	annotate, err := exec.LookPath("callgrind_annotate")
	if err != nil {
		return "", errNoValgrind
	}
	dir, err := os.MkdirTemp("", "wherry-profile-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	p, err := prepare(ctx, o, dir)
	if err != nil {
		return "", err
	}
	n := profileTimes * o.Messages
	profile, err := p.callgrind(ctx, found[0], n, n)
	if err != nil {
		return "", err
	}
	alone, err := run(ctx, annotate, []string{"--auto=no", "--threshold=97", profile})
	if err != nil {
		return "", err
	}
	called, err := run(ctx, annotate, []string{"--auto=no", "--threshold=97", "--inclusive=yes", profile})
	if err != nil {
		return "", err
	}
	return "By itself:\n" + string(alone) + "\nWith what it calls:\n" + string(called), nil
}
