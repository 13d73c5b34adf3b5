package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/load"
	"github.com/wherryhq/wherry/bench/page"
)

// benchCommand groups the commands of the benchmark. Each that measures writes into a results document; all others read
// one.
type benchCommand struct {
	Run     benchRunCommand     `cmd:"" help:"Measure a backend: how fast, at which levers, and how long a message waits."`
	Code    benchCodeCommand    `cmd:"" help:"Count the instructions and allocations of a message."`
	Peers   benchPeersCommand   `cmd:"" help:"Measure what else could be used, in turn with Wherry."`
	Show    benchShowCommand    `cmd:"" help:"Show a results document as tables."`
	Check   benchCheckCommand   `cmd:"" help:"Check a results document, and name each value that is wrong."`
	Compare benchCompareCommand `cmd:"" help:"Compare two results documents of one host."`
	Charts  benchChartsCommand  `cmd:"" help:"Draw the charts of a results document."`
	Page    benchPageCommand    `cmd:"" help:"Write the pages of a results document."`
	Cell    benchCellCommand    `cmd:"" hidden:"" passthrough:"" help:"Measure one cell once, as the process that others start."`
}

// Statuses besides 0 and statusUsage.
const (
	statusFailed      = 1
	statusInterrupted = 130
)

// benchCellCommand is the process of one run.
type benchCellCommand struct {
	Args []string `arg:"" optional:""`
}

func (c *benchCellCommand) run(_ context.Context, s streams) int {
	// The end of a terminal is told to each of its processes. Whoever started this one ends it, and knows then that it was
	// interrupted. It goes by itself where nobody does.
	signal.Ignore(syscall.SIGHUP)
	return load.Child(c.Args, s.out)
}

// fail says what went wrong.
func fail(s streams, err error) int {
	fmt.Fprintf(s.errs, "wherry bench: %v\n", err)
	return statusFailed
}

// print writes what a command is asked for. It fails where not all of it can be written, as on a disk that is full.
func (s streams) print(write func(w io.Writer)) int {
	var text bytes.Buffer
	write(&text)
	if _, err := s.out.Write(text.Bytes()); err != nil {
		return fail(s, fmt.Errorf("cannot write the output: %w", err))
	}
	return 0
}

// readResults reads a results document. The error of a wrong one names it, and has a line for each wrong value.
func readResults(name string) (*document.Document, error) {
	d, err := document.ReadFile(name)
	if invalid, ok := errors.AsType[*document.InvalidError](err); ok {
		return nil, fmt.Errorf("%s is no valid results document:\n%w", name, invalid)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: measure one with 'wherry bench run mem --out %s', or name another; that of the repository is %s",
			err, name, page.Source)
	}
	return d, err
}

// misuse says what is wrong with what a command was told.
func misuse(s streams, err error) int {
	fail(s, err)
	return statusUsage
}

// module is the line that go.mod of the repository begins with.
const module = "module github.com/wherryhq/wherry\n"

// repository is the folder of the clone that the process works in.
func repository() (string, error) {
	work, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := work; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod")) //nolint:gosec // The file is looked for upwards.
		if err == nil && strings.HasPrefix(string(data), module) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is in no clone of the repository, whose programs have to be built for this:"+
				" clone https://github.com/wherryhq/wherry and run the command there", work)
		}
	}
}
