package wherry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	firstWorkerBackoff = 100 * time.Millisecond
	maxWorkerBackoff   = 30 * time.Second
	// steadyAfter is how long all must be well before the pauses begin anew.
	steadyAfter = time.Minute
	// openTimeout bounds the opening of one worker while the others run.
	openTimeout = 30 * time.Second
	// lastMovesPoll is how often a worker that leaves looks whether its copies are all made.
	lastMovesPoll = 20 * time.Millisecond
)

// A crew is the workers of a run. Their number changes while it lasts: some are added and some leave, and one whose
// receiver ended is replaced. One that leaves belongs to the crew until it is closed, so that whoever looks at workers, to
// stop them or to ask how they are, looks at it too.
//
// The hot path knows nothing of it: a lane sees its own worker only.
type crew struct {
	wake   chan struct{} // cap 1: the tender is to look again
	ending chan struct{} // closed by freeze

	mu      sync.Mutex // guards the fields below
	list    []*worker  // replaced as a whole, never changed
	leaving []*worker  // of those, which are on their way out
	want    int        // how many are to run
	past    uint64     // handled by those that are gone
	tended  bool       // somebody sees to those that were lost
	frozen  bool       // nobody is added any more: the run stops
	lost    []loss     // not yet seen to
	err     error      // why one is missing; nil when none is, or is only being opened
	since   time.Time  // when the first of those that are missing was
}

// A loss is a worker whose receiver ended for good.
type loss struct {
	w   *worker
	err error
}

func (c *crew) init() {
	c.wake, c.ending = make(chan struct{}, 1), make(chan struct{})
}

// begin notes that a run starts with n workers, and that somebody sees to those that are lost.
func (c *crew) begin(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.want, c.tended = n, true
}

// now is the workers, those that leave included. It is not to be changed.
func (c *crew) now() []*worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list
}

// all is the workers, and how much was handled by those that are gone: each handled message is with one of the two.
func (c *crew) all() (ws []*worker, past uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list, c.past
}

// state is how many run, how many are to run, and why one is missing; nil when none is, or is only being opened.
func (c *crew) state() (run, want int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.activeLocked(), c.want, c.err
}

func (c *crew) activeLocked() int { return len(c.list) - len(c.leaving) }

// wanted is how many are to run.
func (c *crew) wanted() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.want
}

// resize changes how many are to run.
func (c *crew) resize(n int) {
	c.mu.Lock()
	c.want = n
	c.mu.Unlock()
	c.poke()
}

func (c *crew) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// add adds a worker that is ready to start, unless the run stops.
func (c *crew) add(w *worker) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.frozen {
		return false
	}
	c.list = append(slices.Clone(c.list), w)
	return true
}

// pick chooses a worker that is to leave, the youngest, when more run than are to.
func (c *crew) pick() *worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.activeLocked() <= c.want {
		return nil
	}
	for _, w := range slices.Backward(c.list) {
		if !slices.Contains(c.leaving, w) {
			c.leaving = append(c.leaving, w)
			return w
		}
	}
	return nil
}

// remove takes a worker out that was closed.
func (c *crew) remove(w *worker, handled uint64) {
	other := func(o *worker) bool { return o == w }
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = slices.DeleteFunc(slices.Clone(c.list), other)
	c.leaving = slices.DeleteFunc(c.leaving, other)
	c.past += handled
}

// lose notes that a worker's receiver ended for good. It is false when nobody sees to that.
func (c *crew) lose(w *worker, err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.tended {
		return false
	}
	if !slices.Contains(c.leaving, w) {
		c.leaving = append(c.leaving, w)
		c.lost = append(c.lost, loss{w, err})
	}
	c.poke()
	return true
}

// takeLost returns the losses that were not seen to.
func (c *crew) takeLost() []loss {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost := c.lost
	c.lost = nil
	return lost
}

// trouble notes why a worker is missing.
func (c *crew) trouble(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
	if c.since.IsZero() {
		c.since = time.Now()
	}
}

// complete notes that none is missing. It returns for how long one was, 0 when none was.
func (c *crew) complete() (after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.since.IsZero() {
		after = max(time.Since(c.since), 1)
	}
	c.err, c.since = nil, time.Time{}
	return after
}

// freeze ends all change: whoever is in the crew then is stopped by the run.
func (c *crew) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = true
	close(c.ending)
}

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
		t.beside.Go(func() { t.r.retire(l.w, "its receiver ended") })
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
	if t.failures > 0 {
		wait = min(firstWorkerBackoff<<min(t.failures-1, 16), maxWorkerBackoff)
		wait += time.Duration(rand.Int64N(int64(wait)/4 + 1))
	}
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
			t.beside.Go(func() { t.r.retire(w, "its worker is removed") })
			continue
		}
		if run, want, _ := c.state(); run == want {
			if after := c.complete(); after > 0 {
				t.r.emit(&WorkerBack{Origin: t.r.origin, After: after})
			}
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
		t.r.fail(err)
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

// retire stops one worker in order while the others go on: it receives nothing more, what no handler has touched goes
// back, handlers in hand return in their own time, and what they decided is settled. If the run stops meanwhile, that
// stops it together with the others.
func (r *running) retire(w *worker, why string) {
	w.quit()
	w.end(why)
	select {
	case <-w.lanesDone:
	case <-r.crew.ending:
		return
	}
	if !r.moveLast(w) {
		return
	}
	last := time.AfterFunc(max(r.c.spec.drain, settleTimeout), w.endSettling)
	defer last.Stop()
	w.finish()
	r.closeReceiver(w.recv)
	r.fleet.quarantine.leave(w)
	w.mu.Lock()
	handled, back := w.handled, w.backLocked()
	w.mu.Unlock()
	if back != nil {
		r.emit(back)
	}
	r.crew.remove(w, handled)
}

// moveLast waits for the copies that a leaving worker still has to make, up to the drain time. Originals of those that are
// refused even then go back. It is false when the run stops meanwhile.
func (r *running) moveLast(w *worker) bool {
	patience := time.NewTimer(r.c.spec.drain)
	defer patience.Stop()
	tick := time.NewTicker(lastMovesPoll)
	defer tick.Stop()
	for w.moving() {
		select {
		case <-tick.C:
		case <-patience.C:
			return true
		case <-r.crew.ending:
			return false
		}
	}
	return true
}

// moving reports whether the worker has copies that are not made.
func (w *worker) moving() bool {
	for _, m := range w.moversNow() {
		if kept, _ := m.blocked(); kept > 0 {
			return true
		}
	}
	return false
}

// closeReceiver closes a receiver. What is unsettled goes back to the broker.
func (r *running) closeReceiver(recv driver.Receiver) {
	ctx, stop := context.WithTimeout(context.Background(), settleTimeout)
	defer stop()
	if err := recv.Close(ctx); err != nil && !errors.Is(err, ErrClosed) {
		r.emit(&SettleFailed{Origin: r.origin, Err: err})
	}
}
