package wherry

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// lazyContext is the context of one message. Most handlers never ask it anything, and then it costs nothing: the real
// context, with its timer, is made when somebody first asks for Done or derives from it.
//
// It is the message's own. A lane uses one again for the next message only if nobody touched it; a touched one is ended
// and left to whoever holds it. Value answers from the real context, so that the context package knows it and a
// derived context needs no goroutine.
type lazyContext struct {
	base     context.Context //nolint:containedctx // It is a context: its parent, which ends when the drain time is over.
	deadline driver.Stamp    // 0: none
	cause    error           // of the deadline
	clock    *clock          // to look at the deadline without a timer
	fallback bool            // the deadline is for a parent that has none of its own

	touched atomic.Bool
	mu      sync.Mutex      // guards the fields below
	real    context.Context //nolint:containedctx // It is a context: the one that it stands for.
	cancel  context.CancelCauseFunc
	stop    context.CancelFunc
}

// end ends the context with the given cause and reports whether it may be used again.
func (c *lazyContext) end(cause error) (reusable bool) {
	if !c.touched.Load() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancel(cause)
	c.stop()
	return false
}

// revoke ends the context while its handler runs.
func (c *lazyContext) revoke(cause error) {
	c.made()
	c.cancel(cause)
}

// binds reports whether the deadline of its own counts.
func (c *lazyContext) binds() bool {
	if c.deadline == 0 || !c.fallback {
		return c.deadline != 0
	}
	_, ok := c.base.Deadline()
	return !ok
}

// made returns the real context, making it when it is the first to ask.
func (c *lazyContext) made() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real != nil {
		return c.real
	}
	c.touched.Store(true)
	ctx, stop := c.base, context.CancelFunc(func() {})
	if c.binds() {
		ctx, stop = context.WithDeadlineCause(ctx, c.clock.time(c.deadline), c.cause)
	}
	c.real, c.cancel = context.WithCancelCause(ctx)
	c.stop = stop
	return c.real
}

// Deadline implements [context.Context] without touching it.
func (c *lazyContext) Deadline() (time.Time, bool) {
	base, ok := c.base.Deadline()
	own := c.clock.time(c.deadline)
	switch {
	case !c.binds():
		return base, ok
	case ok && base.Before(own):
		return base, true
	default:
		return own, true
	}
}

// Done implements [context.Context].
func (c *lazyContext) Done() <-chan struct{} { return c.made().Done() }

// Err implements [context.Context]. While the context has not ended it does not touch it, so that asking is cheap.
func (c *lazyContext) Err() error {
	if !c.touched.Load() && c.base.Err() == nil && (c.deadline == 0 || c.clock.now() < c.deadline) {
		return nil
	}
	return c.made().Err()
}

// Value implements [context.Context]. Whoever derives a context asks for Done first, so that by then the real one answers.
func (c *lazyContext) Value(key any) any {
	if !c.touched.Load() {
		return c.base.Value(key)
	}
	return c.made().Value(key)
}
