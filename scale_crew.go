package wherry

import (
	"slices"
	"sync"
	"time"
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
	owing   int        // of a sequence that were lost and have handlers at work: none is opened in their place before
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

// owe notes that a lost worker has the keys of a sequence with its handlers, or that it has them no more.
func (c *crew) owe(n int) {
	c.mu.Lock()
	c.owing += n
	c.mu.Unlock()
	c.poke()
}

// due is how many workers are missing and may be opened.
func (c *crew) due() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.want - c.activeLocked() - c.owing
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
