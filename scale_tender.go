package wherry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// steadyAfter is how long all must be well before the pauses begin anew.
	steadyAfter = time.Minute
	// openTimeout bounds the opening of one worker while the others run.
	openTimeout = 30 * time.Second
)

// A tender keeps as many workers of a run at work as are wanted. It is one goroutine.
type tender struct {
	r        *running
	hand     context.Context //nolint:containedctx // A phase of the run, for workers that are added.
	intake   context.Context //nolint:containedctx // Likewise.
	beside   *sync.WaitGroup
	failures int       // in a row
	failed   time.Time // the last
	again    time.Time // when the next may be opened
}

// run tends until the intake ends.
func (t *tender) run() {
	c := &t.r.crew
	for {
		if lost := c.takeLost(); len(lost) > 0 {
			t.replace(lost)
		}
		var later <-chan time.Time
		if wait := t.match(); wait > 0 {
			later = time.After(wait)
		}
		select {
		case <-c.wake:
		case <-later:
		case <-t.intake.Done():
			return
		}
	}
}

// replace closes workers whose receivers ended, and has others opened: at once, if nothing was wrong for a while. That
// finds out whether the broker itself is closed.
func (t *tender) replace(lost []loss) {
	wait := t.pause(0)
	for _, l := range lost {
		t.tell(l.err, wait)
		l.w.lose()
		if l.w.seq != nil {
			t.r.crew.owe(1)
		}
		t.beside.Go(func() { t.r.retire(l.w, true) })
	}
}

// tell notes and tells that a worker is missing, and when it is tried again.
func (t *tender) tell(err error, wait time.Duration) {
	t.r.crew.trouble(err)
	t.r.emit(&WorkerLost{Origin: t.r.origin, Err: err, Next: wait})
}

// pause notes a failure, the first of a row or at least the one after so many, and returns how long to wait after it.
func (t *tender) pause(after int) (wait time.Duration) {
	if time.Since(t.failed) >= steadyAfter {
		t.failures = 0
	}
	t.failures = max(t.failures, after)
	wait = openBackoff.after(t.failures)
	t.failures++
	t.failed = time.Now()
	t.again = t.failed.Add(wait)
	return wait
}

// match adds and removes workers until as many run as are wanted. It returns how long to wait before it can go on, 0 when
// there is nothing to do.
func (t *tender) match() time.Duration {
	c := &t.r.crew
	for t.intake.Err() == nil && !t.r.isFailed() {
		if w := c.pick(); w != nil {
			t.beside.Go(func() { t.r.retire(w, false) })
			continue
		}
		if run, want, _ := c.state(); run == want {
			if after := c.complete(); after > 0 {
				t.r.emit(&WorkerBack{Origin: t.r.origin, After: after})
			}
			return 0
		}
		if c.due() <= 0 {
			return 0
		}
		if wait := time.Until(t.again); wait > 0 {
			return wait
		}
		t.open()
	}
	return 0
}

// open opens one worker. A broker that is closed ends the run, with what the first to find it so was told.
func (t *tender) open() {
	ctx, stop := context.WithTimeout(t.intake, openTimeout)
	defer stop()
	err := t.r.hire(ctx, t)
	switch {
	case err == nil || t.intake.Err() != nil:
	case errors.Is(err, ErrClosed):
		if _, _, was := t.r.crew.state(); errors.Is(was, ErrClosed) {
			err = was
		}
		t.r.closedUnder(err)
	default:
		t.tell(err, t.pause(1))
	}
}

// hire adds a worker to those that run.
func (r *running) hire(ctx context.Context, t *tender) error {
	recv, err := r.c.openReceiver(ctx)
	if err != nil {
		return fmt.Errorf("open a worker: %w", err)
	}
	w := newWorker(r, recv)
	if err = w.build(); err == nil {
		w.begin(t.hand, t.intake)
		if r.crew.add(w) {
			w.launch(t.beside)
			return nil
		}
		w.quit()
		w.endSettling()
	}
	r.closeReceiver(recv)
	return err
}
