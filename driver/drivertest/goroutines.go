package drivertest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"runtime/pprof"
	"strings"
)

// labelKey marks the goroutines of a case in the goroutine profile. Goroutines inherit the labels of those that start
// them, so that what a case left behind is told apart from what others, which run at the same time, are doing.
const labelKey = "drivertest"

func newLabel() string { return rand.Text() }

func labelled(label string, f func()) {
	pprof.Do(context.Background(), pprof.Labels(labelKey, label), func(context.Context) { f() })
}

// goroutinesOf returns the stacks of the goroutines with the label, as the goroutine profile prints them.
func goroutinesOf(label string) ([]string, error) {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return nil, fmt.Errorf("goroutine profile: %w", err)
	}
	var stacks []string
	mark := fmt.Sprintf("%q:%q", labelKey, label)
	_, text, _ := strings.Cut(profile.String(), "\n") // the first line is a total
	for stack := range strings.SplitSeq(text, "\n\n") {
		if strings.Contains(stack, mark) {
			stacks = append(stacks, stack)
		}
	}
	return stacks, nil
}

// count is how many goroutines the stacks stand for: each begins with the number of those that share it.
func count(stacks []string) int {
	total := 0
	for _, stack := range stacks {
		n := 0
		if _, err := fmt.Sscan(stack, &n); err != nil {
			n = 1
		}
		total += n
	}
	return total
}

// goroutinesEnded fails the case, and returns false, when goroutines of it are left after everything was closed.
// A bubble finds them too, and panics; there the dear search is for cases that have failed, so that they can say so first.
func (t *T) goroutinesEnded() bool {
	if t.h.Virtual && !t.Failed() {
		t.pause(t.h.Wait)
		return true
	}
	var stacks []string
	var err error
	gone := t.eventually(func() bool {
		stacks, err = goroutinesOf(t.label)
		return err != nil || len(stacks) == 0
	})
	if err != nil {
		t.Errorf("%v", err)
	}
	if !gone {
		t.Errorf("goroutines are left after everything was closed:\n%s", strings.Join(stacks, "\n\n"))
	}
	return gone
}
