package wherry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// A Runner does something until its context ends, and returns nil when it then stopped cleanly.
type Runner interface {
	Run(ctx context.Context) error
}

// RunnerFunc is a function as a [Runner], for what is to run beside consumers: it goes on until its context ends.
type RunnerFunc func(ctx context.Context) error

// Run implements [Runner]. A nil RunnerFunc is an error.
func (f RunnerFunc) Run(ctx context.Context) error {
	if f == nil {
		return &Error{Op: "run", Err: errors.New("the function is nil")}
	}
	return f(ctx)
}

// A Preparer is a [Runner] that can check and open everything first. The start that Prepare returns runs; called with a
// context that has ended it stops at once and closes what was opened. [Run] calls it exactly once.
type Preparer interface {
	Prepare(ctx context.Context) (start func(context.Context) error, err error)
}

// Run prepares all of rs, and only when all of them are ready starts them. What is wrong with any of them is reported
// together, and then none is started. It runs until ctx ends or one of them fails, which stops the others; then each
// drains: nothing more is received, handlers in hand go on for up to their drain time with a live context, and everything
// is settled and closed. Brokers and publishers stay open: they belong to who opened them. An in-process broker, which
// forgets at exit what it holds, is emptied first, within the drain time. It counts as empty only when all runners that are
// no consumers have returned: what one of them publishes before it returns is handled.
//
// Run returns nil after a clean stop. An [*AbandonedError] in its result counts what was left undone, by all of them together,
// or says that it is not known what is. It installs no signal handler; signal.NotifyContext makes a context that ends at a
// signal.
func Run(ctx context.Context, rs ...Runner) error {
	if ctx.Value(fleetKey{}) != nil {
		return run(ctx, rs) // inside of a runner: whoever runs that one looks at what is left
	}
	f := newFleet()
	err := run(withFleet(ctx, f), rs)
	return joinEnds(err, f.late())
}

func run(ctx context.Context, rs []Runner) error {
	starts, err := prepare(ctx, rs)
	if errors.Is(err, errStoppedEarly) {
		return nil // a clean stop, before anything began
	}
	if err != nil {
		return err
	}
	return runAll(ctx, starts)
}

// runAll runs until ctx ends or one of them fails, which stops the others.
func runAll(ctx context.Context, starts []func(context.Context) error) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	errs := make([]error, len(starts))
	var wg sync.WaitGroup
	for i, start := range starts {
		wg.Go(func() {
			errs[i] = start(running)
			if errs[i] != nil {
				stop()
			}
		})
	}
	wg.Wait()
	return joinEnds(errs...)
}

// Join makes one runner of several, for whoever passes a part of a service around: [Run] prepares it with everything else,
// and starts and drains it together with everything else. Nil runners in it are reported by Run.
func Join(rs ...Runner) Runner { return joinedRunners(rs) }

type joinedRunners []Runner

// Run implements [Runner].
func (rs joinedRunners) Run(ctx context.Context) error { return Run(ctx, rs...) }

// Prepare implements [Preparer].
func (rs joinedRunners) Prepare(ctx context.Context) (start func(context.Context) error, err error) {
	starts, err := prepare(withFleet(ctx, fleetOf(ctx)), rs)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return runAll(ctx, starts) }, nil
}

// errNotStarted ends the context of what was prepared and is not to start.
var errNotStarted = errors.New("another runner could not be prepared")

// prepare prepares all, or closes what was prepared and returns every mistake.
func prepare(ctx context.Context, rs []Runner) ([]func(context.Context) error, error) {
	if len(rs) == 0 {
		return nil, &Error{Op: "run", Err: errors.New("nothing to run")}
	}
	all := prepared{fleet: fleetOf(ctx)}
	kept := false
	defer func() {
		if !kept { // a driver panicked, and nobody else knows of what was opened
			all.close(ctx)
		}
	}()
	var errs []error
	for i, r := range rs {
		if r == nil || r == Runner((*Consumer)(nil)) || r == Runner((*Router)(nil)) {
			errs = append(errs, &Error{Op: "run", Err: fmt.Errorf("runner %d is nil", i+1)})
			continue
		}
		if err := all.add(ctx, r); err != nil {
			errs = append(errs, err)
		}
	}
	kept = true
	if len(errs) == 0 {
		return all.starts, nil
	}
	return nil, openingFailed(ctx, append(errs, all.close(ctx)...))
}

// prepared is runners that are ready to start.
type prepared struct {
	fleet  *fleet
	starts []func(context.Context) error
	closes []func(context.Context) error // of those that have opened something
	guests []*guest
}

// add prepares one more.
func (p *prepared) add(ctx context.Context, r Runner) error {
	of := func(start func(context.Context) error) func(context.Context) error { return start }
	switch r.(type) {
	case *Consumer, *Router, joinedRunners: // the fleet knows of them, or of who is in them
	default:
		g := p.fleet.invite()
		p.guests = append(p.guests, g)
		ctx, of = g.inside(ctx), g.start
	}
	opens, ok := r.(Preparer)
	if !ok {
		p.starts = append(p.starts, of(r.Run))
		return nil
	}
	start, err := opens.Prepare(ctx)
	if err != nil {
		return err
	}
	p.starts, p.closes = append(p.starts, of(start)), append(p.closes, start)
	return nil
}

// close ends what is not to start, and returns what went wrong with that.
func (p *prepared) close(ctx context.Context) []error {
	ended, stop := context.WithCancelCause(ctx)
	stop(errNotStarted)
	var errs []error
	for _, start := range p.closes {
		if err := start(ended); err != nil {
			errs = append(errs, err)
		}
	}
	for _, g := range p.guests {
		g.leave()
	}
	return errs
}

// openingFailed is what a preparation returns that failed, by errs.
func openingFailed(ctx context.Context, errs []error) error {
	if ctx.Err() != nil && !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, ctx.Err()) }) {
		return fmt.Errorf("%w: %w", errStoppedEarly, ctx.Err())
	}
	return errors.Join(errs...)
}

// errStoppedEarly is a preparation that failed for nothing but the end of its context.
var errStoppedEarly = errors.New("stopped while opening")
