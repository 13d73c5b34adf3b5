package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/wherryhq/wherry/cmd/wherry/internal/demo"
)

const (
	defaultRate     = 200
	defaultDuration = 15 * time.Second
	standardInput   = "-"
)

// demoCommand runs an orders service on the broker in this process.
type demoCommand struct {
	Rate     *int           `help:"Orders a second, 0 for as many as are taken. Default 200; with --input 0."  placeholder:"N"`
	Duration *time.Duration `help:"How long to publish, 0 for until Ctrl-C. Default 15s; with --input to its end." placeholder:"TIME"`
	Input    string         `help:"Take orders from a file of JSON lines, or from standard input (-)."         placeholder:"FILE"`
	Plain    bool           `help:"Write plain lines in place of the live view, as is done where the output is no terminal."`
	Fault    demo.Fault     `help:"Have the broker drop one delivery, duplicate one, or stall for a while: drop, duplicate or stall." placeholder:"FAULT"`
}

// Help is shown below the flags' summary.
func (*demoCommand) Help() string {
	return `An orders service on the broker in this process. Each order goes to payment, which retries, to stock, which
rejects what it does not have, and to report, which works in batches. What they give up goes to the dead
letters. The last line accounts for every order, and the exit status is 0 only if none was lost.`
}

// AfterApply checks what the flags say.
func (d *demoCommand) AfterApply() error {
	if d.Rate != nil && *d.Rate < 0 {
		return fmt.Errorf("--rate is %d, want 0 or more", *d.Rate)
	}
	if d.Duration != nil && *d.Duration < 0 {
		return fmt.Errorf("--duration is %v, want 0 or more", *d.Duration)
	}
	return nil
}

func (d *demoCommand) run(ctx context.Context, s streams) int {
	cfg := demo.Config{Rate: defaultRate, Duration: defaultDuration, Fault: d.Fault, Live: d.live(s)}
	if d.Input != "" {
		cfg.Rate, cfg.Duration = 0, 0
		in, done, err := d.open(s)
		if err != nil {
			fmt.Fprintf(s.errs, "wherry demo: %v\n", err)
			return statusUsage
		}
		defer done()
		cfg.Input = in
	}
	if d.Rate != nil {
		cfg.Rate = *d.Rate
	}
	if d.Duration != nil {
		cfg.Duration = *d.Duration
	}
	return demo.Run(ctx, cfg, s.out, s.errs)
}

// open opens the input.
func (d *demoCommand) open(s streams) (in *demo.Input, done func(), err error) {
	if d.Input == standardInput {
		if isTerminal(s.in) {
			fmt.Fprintln(s.errs, "wherry demo: type one JSON order on each line, and Ctrl-D at the end")
		}
		in, err = demo.NewInput("standard input", s.in)
		return in, func() {}, err
	}
	f, err := openFile(d.Input)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = f.Close() }
	in, err = demo.NewInput(d.Input, f)
	if err != nil {
		done()
	}
	return in, done, err
}

func openFile(name string) (*os.File, error) {
	const want = "--input wants a file with one JSON order on each line, or - for standard input"
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s; %s", name, want)
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory; %s", name, want)
	}
	f, err := os.Open(name) //nolint:gosec // The user names the file.
	if err != nil {
		return nil, fmt.Errorf("cannot read the input: %w", err)
	}
	return f, nil
}

// live reports whether there is a terminal for the live view. One that orders are typed into is not.
func (d *demoCommand) live(s streams) bool {
	typed := d.Input == standardInput && isTerminal(s.in)
	return !d.Plain && !typed && os.Getenv("TERM") != "dumb" && isTerminal(s.out)
}

// isTerminal reports whether a stream, of either direction, is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(f.Fd())
}
