package versus

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestProgramsStandApart has a program write down its process and its group: Ctrl-C goes to the group of the terminal.
func TestProgramsStandApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "program")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nread -r stat < /proc/$$/stat; echo $$ $stat > \"$0.said\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	spec := timed("a")
	once(t.Context(), script, &spec, size{messages: 1})
	standsApart(t, script+".said")
}

// TestBuildersStandApart has a tool that builds do the same.
func TestBuildersStandApart(t *testing.T) {
	t.Parallel()
	said := filepath.Join(t.TempDir(), "said")
	shell := &source{folder: ".", tool: "sh", args: []string{"-c", "read -r stat < /proc/$$/stat; echo $$ $stat > '" + said + "'"}}
	b := &builder{root: t.TempDir(), temp: t.TempDir(), found: func(string) (string, error) { return "/bin/sh", nil }}
	if _, reason := b.build(t.Context(), shell); reason != nil {
		t.Fatal(reason.Text)
	}
	standsApart(t, said)
}

// standsApart reads what a process wrote down.
func standsApart(t *testing.T, name string) {
	t.Helper()
	said, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	// Its own number, then those of proc(5): pid, name, state, parent and group.
	fields := strings.Fields(string(said))
	if group, err := strconv.Atoi(fields[5]); err != nil || fields[0] != strconv.Itoa(group) {
		t.Errorf("process %s is in the group %s, want one of its own: %s", fields[0], fields[5], said)
	}
}
