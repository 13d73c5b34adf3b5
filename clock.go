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
// A clock belongs to one consumer or publisher. An exact one reads the system's each time. A consumer's is steady: it is that of
// the system when it began, and what went by since, so that nothing that is measured in this process ends early, or hours late,
// when somebody sets the system's clock. What others compare with their own, a publisher's time of a message, is the system's.
type clock struct {
	cached atomic.Int64 // 0: forgotten
	ahead  atomic.Int64 // of a steady clock: how far ahead of it the system's was at the last reading
	exact  bool
	began  time.Time // of a steady clock, else zero

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
		c.cached.CompareAndSwap(v, int64(c.of(now))) // not one that was forgotten meanwhile: no timer would forget this
	}
}

// of is a time of the system's by this clock. Where it was made by time.Now its monotonic reading counts.
func (c *clock) of(t time.Time) driver.Stamp {
	if c.began.IsZero() {
		return driver.StampOf(t)
	}
	return driver.StampOf(c.began).Add(t.Sub(c.began))
}

// time is a stamp of this clock as a time with a monotonic reading, where the clock is steady: whoever waits until then waits
// as long as was meant.
func (c *clock) time(s driver.Stamp) time.Time {
	if s == 0 || c.began.IsZero() {
		return s.Time()
	}
	return c.began.Add(time.Duration(s - driver.StampOf(c.began)))
}

// since is how long ago a time by the clocks of others was, at a stamp of this one.
func (c *clock) since(t, now driver.Stamp) time.Duration {
	return max(time.Duration(int64(now-t)+c.ahead.Load()), 0)
}

// until is when a time by the clocks of others comes.
func (c *clock) until(t driver.Stamp) driver.Stamp {
	now := time.Now()
	return c.of(now).Add(time.Duration(t - driver.StampOf(now)))
}

func (c *clock) read() driver.Stamp {
	t := time.Now()
	now := c.of(t)
	if !c.began.IsZero() {
		c.ahead.Store(t.UnixNano() - int64(now))
	}
	if c.exact {
		return now
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.cached.Load() != 0 {
		return now
	}
	c.cached.Store(int64(now))
	if c.timer == nil {
		c.timer = time.AfterFunc(clockGrain, c.forget)
	} else {
		c.timer.Reset(clockGrain)
	}
	return now
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
