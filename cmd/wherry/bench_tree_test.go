//go:build unix

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestBenchInAnotherTree is in a clone whose go command is of another version than this program was built by. Nothing may be
// built there. It is not parallel, since the working directory is that of the whole process.
func TestBenchInAnotherTree(t *testing.T) {
	tree, tools := t.TempDir(), t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(tree, "go.mod"), []byte("module github.com/wherryhq/wherry\n"), 0o600),
		os.WriteFile(filepath.Join(tools, "go"), []byte("#!/bin/sh\necho go1.0\n"), 0o700),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(tree)
	t.Setenv("PATH", tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, command := range []string{"code", "peers"} {
		r := bench(t, command)
		r.want(t, 1, nil, []string{"the go command in " + tree + " builds by go1.0: build wherry anew"})
		r = bench(t, command, "--dry-run")
		r.want(t, 0, []string{"mem/" + command + "\n"}, nil)
	}
}
