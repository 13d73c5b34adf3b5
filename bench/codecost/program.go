package codecost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/host"
)

// program is the built program that does scenarios.
type program struct {
	path     string
	dir      string // for what callgrind writes
	valgrind string // empty where instructions are not counted
}

// source is the program's import path.
const source = "github.com/wherryhq/wherry/bench/codecost/counted"

// simulated is the build tag of a program that valgrind runs, under which everything takes longer: internal/pace of the root
// module looks at it.
const simulated = "simulated"

// floor is fewer instructions than any Go program takes that only starts and ends.
const floor = 200_000

// errNoValgrind is a machine on which instructions cannot be counted.
var errNoValgrind = errors.New("valgrind is not installed: instructions cannot be counted without it. " +
	"Install it by \"apt-get install valgrind\" (as root) or by your system's package manager")

// prepare finds valgrind, where instructions are counted, and builds the program of the source tree into dir.
func prepare(ctx context.Context, o Options, dir string) (*program, error) {
	p := &program{path: filepath.Join(dir, "counted"), dir: dir}
	if !o.NoInstructions {
		path, err := exec.LookPath("valgrind")
		if err != nil {
			return nil, errNoValgrind
		}
		p.valgrind = path
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", simulated, "-o", p.path, source)
	cmd.Dir = o.Tree
	cmd.Env = host.Environment(runtime.NumCPU(), nil)
	host.Apart(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		return nil, fmt.Errorf("build %s in %s: %w\n%s", source, o.Tree, err, strings.TrimSpace(string(out)))
	}
	return p, nil
}

// Environment is what is set for the processes that are counted, beside GOMAXPROCS=1.
func Environment() map[string]string {
	return map[string]string{"GOGC": "off", "GODEBUG": "asyncpreemptoff=1"}
}

// args are those of a scenario with n messages, of which ready wait in advance.
func (s Scenario) argsOf(n, ready int64) []string {
	return append(s.args(), "-n", strconv.FormatInt(n, 10), "-ready", strconv.FormatInt(ready, 10))
}

// allocations are the blocks and bytes of one process.
func (p *program) allocations(ctx context.Context, s Scenario, n, ready int64) (blocks, bytes int64, err error) {
	out, err := run(ctx, p.path, append(s.argsOf(n, ready), "-allocations"))
	if err != nil {
		return 0, 0, err
	}
	var counts struct {
		Blocks int64 `json:"blocks"`
		Bytes  int64 `json:"bytes"`
	}
	if err := json.Unmarshal(out, &counts); err != nil {
		return 0, 0, fmt.Errorf("read the allocations of %s: %w", s.Name, err)
	}
	if counts.Blocks <= 0 || counts.Bytes <= 0 {
		return 0, 0, fmt.Errorf("%s: %d blocks and %d bytes are fewer than a process allocates that only starts", s.Name, counts.Blocks, counts.Bytes)
	}
	return counts.Blocks, counts.Bytes, nil
}

// instructions are those of one process.
func (p *program) instructions(ctx context.Context, s Scenario, n, ready int64) (int64, error) {
	profile, err := p.callgrind(ctx, s, n, ready)
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(profile)
	if err := errors.Join(err, os.Remove(profile)); err != nil {
		return 0, err
	}
	total, err := totalOf(text)
	if err != nil {
		return 0, fmt.Errorf("%s with %d messages: %w", s.Name, n, err)
	}
	return total, nil
}

// callgrind runs a process under callgrind and returns the name of what that wrote. The caller removes it.
func (p *program) callgrind(ctx context.Context, s Scenario, n, ready int64) (string, error) {
	f, err := os.CreateTemp(p.dir, "callgrind-*.out")
	if err != nil {
		return "", err
	}
	name := f.Name()
	if err := f.Close(); err != nil {
		return "", err
	}
	args := append([]string{"-q", "--tool=callgrind", "--callgrind-out-file=" + name, p.path}, s.argsOf(n, ready)...)
	if _, err := run(ctx, p.valgrind, args); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}

var totalLine = regexp.MustCompile(`(?m)^(?:summary|totals): (\d+)$`)

// totalOf reads the total of instructions from what callgrind wrote.
func totalOf(profile []byte) (int64, error) {
	m := totalLine.FindSubmatch(profile)
	if m == nil {
		return 0, errors.New("callgrind wrote no total of instructions: it was stopped, or is of a version that writes another format")
	}
	total, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		return 0, err
	}
	if total < floor {
		return 0, fmt.Errorf("callgrind counted %d instructions, fewer than the %d that a process takes to start: it did not count the program", total, floor)
	}
	return total, nil
}

const (
	// lifetime is the most that a process may take. One takes seconds, and one whose message is lost waits for it for ever.
	lifetime = 10 * time.Minute
	// patience is how long a process that was told to end may take.
	patience = 2 * time.Second
)

// run runs a program in the environment of processes that are counted and returns what it printed.
func run(ctx context.Context, path string, args []string) ([]byte, error) {
	return runWithin(ctx, lifetime, path, args)
}

func runWithin(ctx context.Context, most time.Duration, path string, args []string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cmd := exec.CommandContext(limited, path, args...)
	cmd.Env, cmd.WaitDelay = host.Environment(1, Environment()), patience
	host.Apart(cmd)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, cause
		}
		if limited.Err() != nil {
			return nil, fmt.Errorf("%s %s: did not end within %v: %s", filepath.Base(path), strings.Join(args, " "), most, strings.TrimSpace(stderr.String()))
		}
		return nil, fmt.Errorf("%s %s: %w: %s", filepath.Base(path), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}
