package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchReplaced puts another program in the place of the running one, as who builds it anew does. Elsewhere
// a program does not know itself but by the name of its file.
func TestBenchReplaced(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own, other, out := filepath.Join(dir, "wherry"), filepath.Join(dir, "other"), filepath.Join(dir, "results.json")
	if err := errors.Join(os.Link(path, own), os.WriteFile(other, []byte("#!/bin/sh\nexit 3\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), own, append([]string{"bench"}, quick(out)...)...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), " steps, about ") {
			if err := os.Rename(other, own); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v, said was:\n%s", err, said.String())
	}
}
