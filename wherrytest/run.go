package wherrytest

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"slices"

	"github.com/wherryhq/wherry"
)

// A run is one call of Run.
type run struct {
	runners []wherry.Runner
	cancel  context.CancelFunc
	done    chan struct{} // closed when it returned
	err     error         // readable then
}

// ready is a runner that tells when everything that is run with it is prepared, since only then it is started.
type ready chan struct{}

func (r ready) Run(ctx context.Context) error {
	if ctx.Err() == nil { // else the others were not prepared, and nothing starts
		close(r)
	}
	<-ctx.Done()
	return nil
}

// healthy is a consumer, or what is built around one.
type healthy interface{ Health() wherry.Health }

// Run runs consumers, or whatever else [wherry.Run] runs, in the background. It returns when all of them are prepared and
// the consumers among them receive: what is published from then on reaches them. Mistakes that keep them from it fail the test at once. It may be called
// more than once.
//
// At the end of the test they are stopped as a service is. The test fails when one of them returns an error, abandons
// a handler, leaves messages under way (see [LeaveUndone]), or leaves a goroutine behind (see [KeepGoroutines]).
func (t *Test) Run(rs ...wherry.Runner) {
	t.tb.Helper()
	ctx, cancel := context.WithCancel(t.context())
	r := &run{runners: slices.Clone(rs), cancel: cancel, done: make(chan struct{})}
	prepared := make(ready)
	if len(rs) == 0 {
		cancel()
		t.tb.Fatalf("wherrytest: nothing to run")
	}
	go func() {
		defer t.ledger.touch()
		defer close(r.done)
		pprof.Do(ctx, pprof.Labels(labelKey, t.label()), func(ctx context.Context) {
			r.err = wherry.Run(ctx, append(slices.Clone(rs), prepared)...)
		})
	}()
	t.mu.Lock()
	t.running = append(t.running, r)
	t.mu.Unlock()
	select {
	case <-prepared:
		r.awaitStart()
	case <-r.done:
		err := t.Stop()
		t.tb.Fatalf("wherrytest: run: %v", err)
	}
}

// awaitStart returns when every consumer has begun, or the run has ended. All are told to at the same time, and what is
// between that and its beginning is a few instructions, which nothing can be asked to tell the end of.
func (r *run) awaitStart() {
	for _, one := range r.runners {
		c, ok := one.(healthy)
		for ok && c.Health().State == wherry.StateStarting && !r.hasEnded() {
			runtime.Gosched()
		}
	}
}

func (r *run) hasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// Stop stops everything that runs, waits until it has drained, and returns what [wherry.Run] returned. It is for tests of
// stopping; without it the end of the test does the same.
func (t *Test) Stop() error {
	t.mu.Lock()
	rs := t.running
	t.running = nil
	t.mu.Unlock()
	for _, r := range rs {
		r.cancel()
	}
	var errs []error
	for _, r := range rs {
		<-r.done
		errs = append(errs, r.err)
	}
	return errors.Join(errs...)
}

func (t *Test) runs() []*run {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.running)
}

func (t *Test) isRunning() bool { return len(t.runs()) > 0 }

// runError is that of a run which ended by itself.
func (t *Test) runError() error {
	for _, r := range t.runs() {
		if !r.hasEnded() {
			continue
		}
		if r.err == nil {
			return errors.New("it returned before it was stopped")
		}
		return r.err
	}
	return nil
}
