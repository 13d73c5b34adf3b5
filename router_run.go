package wherry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// errStoppedAlone ends the context of a consumer that is stopped while the others go on.
var errStoppedAlone = errors.New("stopped by its router")

// A routerRun is one run of the outermost router, from Prepare to the end.
type routerRun struct {
	root  *Router
	fleet *fleet
	life  context.Context //nolint:containedctx // A phase of the run: ends when the run is to stop, however it comes to that.
	end   context.CancelCauseFunc

	adding sync.WaitGroup // of Add; nothing is added to it once it is closed
	rounds sync.WaitGroup // of consumers that were started

	// Guarded by the lock of root.
	started bool
	given   context.Context //nolint:containedctx // The one that start was called with, which life follows a moment later.
	closed  bool            // nothing is added any more
	ready   []*round        // open, to be started with the run
	errs    []error         // of consumers that were taken out while the run stopped
}

// A round is one run of one consumer, from before it is opened to its end.
type round struct {
	m    *mounted
	ctx  context.Context //nolint:containedctx // A phase of the run: ends when this consumer is to stop.
	quit context.CancelCauseFunc
	done chan struct{} // closed at the end

	start func(context.Context) error // set when it is open

	// Guarded by the lock of the outermost router.
	began   bool
	ended   bool
	removed bool  // by Stop: it leaves the router at its end
	late    bool  // that came when the run was stopping already
	err     error // constant once done is closed
}

func (run *routerRun) newRoundLocked(m *mounted) *round {
	t := &round{m: m, done: make(chan struct{})}
	t.ctx, t.quit = context.WithCancelCause(run.life)
	m.round = t
	return t
}

// stoppingLocked reports whether the run has come to its end, or is about to.
func (run *routerRun) stoppingLocked() bool {
	return run.closed || run.life.Err() != nil || run.given != nil && run.given.Err() != nil
}

// Run is [Run] of this router alone.
func (r *Router) Run(ctx context.Context) error { return Run(ctx, r) }

// Prepare checks the router and all in it and opens what they need, and reports all mistakes together. The returned start
// runs until its context ends or, without [KeepRunning], a consumer fails. [Run] calls both. A router that is in another is run
// by that one only. Prepare of a router that runs is [ErrAlreadyRunning].
func (r *Router) Prepare(ctx context.Context) (start func(context.Context) error, err error) {
	if r == nil {
		return nil, &Error{Op: "router", Err: errors.New("the router is nil; make one with NewRouter")}
	}
	ctx = withFleet(ctx, fleetOf(ctx))
	run, rounds, err := r.beginRun(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, t := range rounds {
		if t.start, err = openMounted(ctx, t.m.c); err != nil {
			errs = append(errs, err)
		}
	}
	r.mu.Lock()
	for _, t := range rounds {
		if t.start == nil {
			t.start = func(context.Context) error { return nil } // it could not be opened: nothing of this run starts
		}
		run.ready = append(run.ready, t)
	}
	r.mu.Unlock()
	if len(errs) == 0 {
		return run.startAll, nil
	}
	run.end(errNotStarted)
	if err := run.startAll(run.life); err != nil {
		errs = append(errs, err)
	}
	return nil, openingFailed(ctx, errs)
}

// beginRun checks all declarations and begins a run, with a round for each consumer.
func (r *Router) beginRun(ctx context.Context) (*routerRun, []*round, error) {
	root := r.lockTree()
	defer root.mu.Unlock()
	switch {
	case root != r:
		return nil, nil, r.fail("run", errors.New("it is in another router: run the outermost"))
	case r.run != nil:
		return nil, nil, r.fail("run", ErrAlreadyRunning)
	}
	ms, rs := r.allLocked()
	if err := checkTree(r, ms, rs); err != nil {
		return nil, nil, err
	}
	run := &routerRun{root: r, fleet: fleetOf(ctx)}
	run.life, run.end = context.WithCancelCause(context.WithoutCancel(ctx))
	rounds := make([]*round, 0, len(ms))
	for _, m := range ms {
		rounds = append(rounds, run.newRoundLocked(m))
	}
	r.run = run
	return run, rounds, nil
}

// checkTree reports what is wrong before anything is opened. With a router that is wrong, what is wrong with the consumers is
// reported too.
func checkTree(root *Router, ms []*mounted, rs []*Router) error {
	var errs []error
	for _, r := range rs {
		if err := r.mistakes(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := checkNames(ms); err != nil {
		errs = append(errs, err)
	}
	for _, m := range ms {
		if err := m.c.foreignTo(root); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return nil // the consumers' mistakes are found when they are opened
	}
	for _, m := range ms {
		if err := m.c.declared(); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// checkNames reports consumers that have one name.
func checkNames(ms []*mounted) error {
	var errs []error
	first := make(map[string]*Consumer, len(ms))
	for _, m := range ms {
		name := m.c.Name()
		if other := first[name]; other != nil {
			errs = append(errs, &Error{Op: "router", Topic: m.in.named(""), Err: sameName(name, other, m.c)})
			continue
		}
		first[name] = m.c
	}
	return errors.Join(errs...)
}

func sameName(name string, a, b *Consumer) error {
	return fmt.Errorf("two consumers are named %q, %s and %s: give one another name with Name", name, a.whence(), b.whence())
}

// whence is where a consumer's messages come from, in words.
func (c *Consumer) whence() string {
	where := "that of topic " + c.source.topic.name
	if c.source.group != "" {
		where += " in group " + c.source.group
	}
	return where
}

// declared is what is wrong with the consumer's own declaration.
func (c *Consumer) declared() error {
	if err := errors.Join(c.source.err(), errors.Join(c.own.errs...)); err != nil {
		return mistakes("consume", c.Name(), err)
	}
	return nil
}

// foreignTo reports a consumer that ran before its routers were put into root.
func (c *Consumer) foreignTo(root *Router) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.placed && c.under != root {
		return c.fail(errors.New("it ran before it was mounted here, with other options: make another with Consume"))
	}
	return nil
}

// openMounted prepares a consumer. A driver that panics makes no more of it than a consumer that cannot be opened.
func openMounted(ctx context.Context, c *Consumer) (start func(context.Context) error, err error) {
	defer func() {
		if v := recover(); v != nil {
			start, err = nil, c.fail(&openingError{newPanicError(v)})
		}
	}()
	return c.Prepare(ctx)
}

// openingError is a [PanicError] of who opens.
type openingError struct{ p *PanicError }

func (e *openingError) Error() string {
	return fmt.Sprintf("opening it panicked: %v", e.p.Value)
}

func (e *openingError) Unwrap() error { return e.p }

// startAll starts what is ready, waits for the end, and for everything that was started or is being added.
func (run *routerRun) startAll(ctx context.Context) error {
	unhook := context.AfterFunc(ctx, func() { run.end(context.Cause(ctx)) })
	defer unhook()
	if ctx.Err() != nil { // at once: what starts now must see it
		run.end(context.Cause(ctx))
	}
	root := run.root
	root.mu.Lock()
	run.started, run.given = true, ctx
	for _, t := range run.ready {
		run.launchLocked(t)
	}
	run.ready = nil
	root.mu.Unlock()
	<-run.life.Done()
	root.mu.Lock()
	run.closed = true // who adds is counted now, or sees this
	root.mu.Unlock()
	run.adding.Wait()
	run.rounds.Wait()
	return run.over()
}

// launchLocked starts a consumer that is open. One that was stopped before only closes.
func (run *routerRun) launchLocked(t *round) {
	t.began = true
	ctx := t.ctx
	if t.removed {
		ctx = notStarted()
	}
	run.rounds.Go(func() { run.finish(t, t.start(ctx)) })
}

// notStarted is a context for what was prepared and is not to start, whatever else has ended.
func notStarted() context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	end(errNotStarted)
	return ctx
}

// finish notes that a consumer has ended, and ends the run when that is what its failure does.
func (run *routerRun) finish(t *round, err error) {
	t.quit(nil)
	root := run.root
	root.mu.Lock()
	t.ended, t.err = true, err
	fatal := err != nil && !t.removed && !t.m.in.keeps()
	if t.removed && t.late && err != nil {
		run.errs = append(run.errs, err)
	}
	var resumes []func()
	if t.removed {
		resumes = t.m.detachLocked()
	}
	root.mu.Unlock()
	if fatal {
		run.end(nil)
	}
	for _, resume := range resumes {
		resume()
	}
	close(t.done)
}

// over forgets the run and returns what went wrong in it.
func (run *routerRun) over() error {
	root := run.root
	root.mu.Lock()
	defer root.mu.Unlock()
	errs := run.errs
	ms, _ := root.allLocked()
	for _, m := range ms {
		if m.round == nil {
			continue
		}
		if m.round.err != nil {
			errs = append(errs, m.round.err)
		}
		m.round = nil
	}
	root.run = nil
	run.end(nil)
	slices.SortStableFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return joinEnds(errs...)
}

// fail is an error of a router, by its prefixes.
func (r *Router) fail(op string, err error) error {
	return &Error{Op: op + " router", Topic: r.named(""), Err: err}
}
