package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/wherryhq/wherry/cmd/wherry/internal/interrupt"
)

// The exit statuses of a run.
const (
	StatusFine   = 0   // nothing was lost
	StatusLost   = 1   // something was lost, or the service failed
	StatusUsage  = 2   // what was asked for, or the input, is wrong
	StatusKilled = 130 // the user did not wait for the end
)

// Config is a run of the service. The zero Config publishes as fast as it goes until it is interrupted.
type Config struct {
	Rate     int           // orders per second; 0 is as fast as they are taken
	Duration time.Duration // of publishing; 0 is until an interrupt or the end of the input
	Input    *Input        // nil makes orders up
	Fault    Fault
	Live     bool // out is a terminal and shows the live view
}

// Run runs the service and returns the exit status. The first line on out comes at once; the last one accounts for every
// order, unless the user does not wait for it. What went wrong is said on errs. The end of ctx, Ctrl-C and SIGTERM stop
// the service in order; a second Ctrl-C or SIGTERM ends Run at once and leaves goroutines behind.
func Run(ctx context.Context, cfg Config, out, errs io.Writer) int {
	fmt.Fprintln(out, banner(&cfg)) // and an empty line
	stopping, in := interrupt.Listen(ctx)
	defer in.Close()
	s, err := newService(ctx, cfg)
	if err != nil {
		return fail(errs, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = s.run(stopping)
	}()
	c := newCamera(s)
	if cfg.Live {
		if failed := showLive(c, in, done, out); failed != nil {
			fmt.Fprintf(errs, "wherry demo: no live view, plain lines instead: %v\n", failed)
			cfg.Live = false
		}
	}
	if !cfg.Live {
		showPlain(c, in, done, out)
	}
	select {
	case <-done:
	default:
		t := s.ledger.Totals()
		fmt.Fprintf(errs, "wherry demo: quit at once, with %d of %d orders not finished\n", t.Open, t.Published)
		return StatusKilled
	}
	status := StatusFine
	if err != nil {
		status = fail(errs, err)
	}
	shot := c.take()
	return max(report(out, s, &shot), status)
}

// fail says what went wrong and returns its status.
func fail(errs io.Writer, err error) int {
	fmt.Fprintf(errs, "wherry demo: %v\n", err)
	if _, ok := errors.AsType[*InputError](err); ok {
		return StatusUsage
	}
	return StatusLost
}

// banner says what is about to happen, in lines that fit a narrow terminal.
func banner(cfg *Config) string {
	what := "orders as fast as they are taken"
	if cfg.Rate > 0 {
		what = fmt.Sprintf("%d orders a second", cfg.Rate)
	}
	if cfg.Input != nil {
		what += " from " + clean(cfg.Input.name)
	}
	if cfg.Duration > 0 {
		what += fmt.Sprintf(" for %v", cfg.Duration)
	}
	if cfg.Fault != "" {
		what += ", with the fault " + string(cfg.Fault)
	}
	return "wherry demo: " + what + ".\n" +
		"Each goes to payment, stock and report, all in this process. Ctrl-C stops.\n"
}
