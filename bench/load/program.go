package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
)

// A Program is what measures orders, in a process of its own for each, with the environment of [host.Environment] and
// [host.Timed], and apart from the signals of this one. The zero Program is the running one, with the command "bench cell".
type Program struct {
	Path string
	Args []string // before the order
}

// closing is how long a process may take to go when it is told to.
const closing = 2 * time.Second

// Measure starts the program for one order and waits for its report. Whatever goes wrong is the report's reason.
func (p Program) Measure(ctx context.Context, o Order) Report {
	data, err := json.Marshal(o)
	if err != nil {
		return failed("write the order: " + err.Error())
	}
	path, args := p.Path, p.Args
	if path == "" {
		if path, err = running(); err != nil {
			return failed("find the program: " + err.Error())
		}
		args = []string{"bench", "cell"}
	}
	ctx, cancel := context.WithTimeout(ctx, lifetime+closing)
	defer cancel()
	var stdout, stderr bytes.Buffer
	c := exec.CommandContext(ctx, path, append(slices.Clip(args), string(data))...)
	c.Env = host.Environment(o.Spec.Procs, host.Timed())
	host.Apart(c)
	c.Stdout, c.Stderr, c.WaitDelay = &stdout, &stderr, closing
	runErr := c.Run()
	if host.Interrupted(runErr) {
		return Report{None: &document.Reason{Code: document.NotMeasured, Text: document.Interrupted}}
	}
	var r Report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil || r.Run == nil && r.Load == nil && r.None == nil {
		return failed(fmt.Sprintf("the process for %s said nothing that is understood: %v%s", o.Spec.Name(), runErr, said(stderr.String())))
	}
	if runErr != nil && r.None == nil {
		return failed(fmt.Sprintf("the process for %s: %v%s", o.Spec.Name(), runErr, said(stderr.String())))
	}
	return r
}

// running is the file of the running program. Where the system has a name for that, it stays the same program when another takes
// the place of its file, as where it is built anew during a run.
func running() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// said is the first line that a process wrote about its end.
func said(stderr string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	if line == "" {
		return ""
	}
	return ": " + line
}
