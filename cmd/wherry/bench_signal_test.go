//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestBenchSignal sends what Ctrl-C and a supervisor send: a signal to the command and to the process of the cell that it
// measures.
func TestBenchSignal(t *testing.T) {
	t.Parallel()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sent.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), path, "bench", "run", "mem", "--only", "subject=harness,wherry method=live", "--out", "results.json")
			cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Setpgid: true}
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
					if err := syscall.Kill(-cmd.Process.Pid, sent); err != nil {
						t.Fatal(err)
					}
				}
			}
			_ = cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != statusInterrupted || !strings.Contains(said.String(), "nothing is written") {
				t.Errorf("status %d, said was:\n%s", status, said.String())
			}
			if _, err := os.Stat(filepath.Join(dir, "results.json")); err == nil {
				t.Error("a document was written without anything that was measured")
			}
		})
	}
}

// TestBenchWithoutReader has whoever reads what is said go after its first line, as an interrupted tee does. What is measured is
// written all the same.
func TestBenchWithoutReader(t *testing.T) {
	t.Parallel()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "results.json")
	cmd := exec.CommandContext(t.Context(), path, append([]string{"bench"}, quick(out)...)...)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(errs).ReadString('\n'); err != nil || !strings.Contains(line, " steps, about ") {
		t.Errorf("the first line is %q, %v", line, err)
	}
	if err := errs.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if rows := read(t, out).Backends[0].Matrix.Rows; len(rows) != 2 || without(rows) != 0 {
		t.Errorf("the rows are %+v", rows)
	}
}
