package wherry

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// clockGrain is how long a reading of a clock is used again.
const clockGrain = time.Millisecond

// A clock tells the time of the hot path. Reading the system's costs as much as handling a message, so a reading is
// used again for a millisecond: it is forgotten by a timer, which runs only while somebody reads. Nothing ticks in an
// idle process, and nothing lives in a package variable, where it would end every synctest bubble that touches it.
//
// A clock belongs to one consumer or publisher. An exact one reads the system's each time.
type clock struct {
	cached atomic.Int64 // 0: forgotten
	exact  bool

	mu     sync.Mutex // guards the fields below
	timer  *time.Timer
	closed bool
}

// now returns the time, at most 2 ms old, unless no processor had time for the timer.
func (c *clock) now() driver.Stamp {
	if v := c.cached.Load(); v != 0 {
		return driver.Stamp(v)
	}
	return c.read()
}

// set gives the clock a reading of the system's, where it uses one again.
func (c *clock) set(now time.Time) {
	if v := c.cached.Load(); v != 0 {
		c.cached.CompareAndSwap(v, now.UnixNano()) // not one that was forgotten meanwhile: no timer would forget this
	}
}

func (c *clock) read() driver.Stamp {
	now := time.Now().UnixNano()
	if c.exact {
		return driver.Stamp(now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.cached.Load() != 0 {
		return driver.Stamp(now)
	}
	c.cached.Store(now)
	if c.timer == nil {
		c.timer = time.AfterFunc(clockGrain, c.forget)
	} else {
		c.timer.Reset(clockGrain)
	}
	return driver.Stamp(now)
}

func (c *clock) forget() { c.cached.Store(0) }

// close stops the timer; the clock then reads the system's each time.
func (c *clock) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	c.cached.Store(0)
}
