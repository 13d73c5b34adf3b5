package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// process is the command as users have it, built and started.
type process struct {
	cmd  *exec.Cmd
	out  *bufio.Scanner
	seen strings.Builder // what was read of the output
	errs bytes.Buffer
}

// binaryDir is where the command is built. It is gone after the tests.
var binaryDir string

// binary builds the command, once for all tests, and returns its path.
var binary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(binaryDir, "wherry")
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

func start(t *testing.T, args ...string) *process {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.CommandContext(t.Context(), path, args...)}
	p.cmd.Stderr = &p.errs
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewScanner(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// until reads up to a line with the text.
func (p *process) until(t *testing.T, text string) {
	t.Helper()
	for p.out.Scan() {
		p.seen.WriteString(p.out.Text() + "\n")
		if strings.Contains(p.out.Text(), text) {
			return
		}
	}
	t.Fatalf("the output ends without %q:\n%s\n%s", text, p.seen.String(), p.errs.String())
}

func (p *process) signal(t *testing.T, s os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// end reads the rest and returns what came of it.
func (p *process) end(t *testing.T) result {
	t.Helper()
	for p.out.Scan() {
		p.seen.WriteString(p.out.Text() + "\n")
	}
	err := p.cmd.Wait()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return result{p.cmd.ProcessState.ExitCode(), p.seen.String(), p.errs.String()}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]os.Signal{"interrupt": os.Interrupt, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "demo", "--duration", "0")
			p.until(t, "s published=")
			p.signal(t, s)
			r := p.end(t)
			r.want(t, 0, []string{"\nstopping: no more orders"}, nil)
			if a := r.accounts(t); a.published == 0 || a.lost != 0 || a.duplicated != 0 {
				t.Errorf("got %+v, want some published, none lost and none duplicated", a)
			}
		})
	}
}

// TestSignalTwice has a full queue to empty, which the second signal does not wait for.
func TestSignalTwice(t *testing.T) {
	t.Parallel()
	p := start(t, "demo", "--duration", "0", "--rate", "0")
	p.until(t, "s published=")
	p.signal(t, os.Interrupt)
	p.until(t, "stopping: no more orders")
	p.signal(t, os.Interrupt)
	r := p.end(t)
	r.want(t, 130, nil, []string{"wherry demo: quit at once, with ", " orders not finished"})
	if strings.Contains(r.out, "lost=") {
		t.Errorf("the orders are accounted for though they are not finished:\n%s", r.out)
	}
}
