package wherry

import (
	"slices"
	"sync"
	"time"
)

// pause is one reason for which a consumer is paused. The consumer's lock guards it.
type pause struct {
	why   string
	until time.Time   // zero: until it is resumed
	timer *time.Timer // of one that ends by itself, while the consumer runs
}

// Pause stops the consumer from starting on another message until the returned resume was called. Handlers in hand go on;
// what was received and not begun goes back to the broker. Several pauses add up: the consumer goes on when the last is
// resumed. It may be called from a handler, a middleware or a loop over [Pull], and before Run. A paused loop waits where it asks for
// its next message, until the pause or its context ends. resume may be called more than once, from any goroutine.
func (c *Consumer) Pause(why string) (resume func()) {
	return c.pause(&pause{why: why})
}

// PauseFor is [Consumer.Pause] for at most d: the consumer goes on by itself, or earlier by resume. The time runs on while
// the consumer does not: one that stops and runs again is paused for what is left of it, and nothing waits meanwhile. A d
// of zero or less does nothing.
func (c *Consumer) PauseFor(d time.Duration, why string) (resume func()) {
	if d <= 0 {
		return func() {}
	}
	return c.pause(&pause{why: why, until: time.Now().Add(d)})
}

func (c *Consumer) pause(p *pause) (resume func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	if c.pauses == nil {
		c.pauses = make(map[*pause]struct{})
	}
	r := c.running
	if r == nil {
		c.forgetPausesLocked() // no timer does
	}
	c.pauses[p] = struct{}{}
	first := r != nil && len(c.pauses) == 1
	var untold Event
	if r != nil {
		r.paused.Store(true)
		c.armLocked(p)
		untold = r.untoldPauseLocked()
	}
	c.mu.Unlock()
	if untold != nil {
		defer r.tellPauses(untold) // also after a driver that panics, or nobody would tell of a pause again
	}
	if first {
		for _, w := range r.crew.now() {
			w.share("paused")
		}
	}
	return sync.OnceFunc(func() { c.resume(p) })
}

func (c *Consumer) resume(p *pause) {
	c.mu.Lock()
	if _, ok := c.pauses[p]; !ok {
		c.mu.Unlock()
		return
	}
	c.endLocked(p)
	r := c.running
	last := r != nil && len(c.pauses) == 0
	var untold Event
	if last {
		r.paused.Store(false)
		r.wentOn = time.Now()
		untold = r.untoldPauseLocked()
	}
	c.mu.Unlock()
	if last {
		for _, w := range r.crew.now() {
			w.resume()
		}
	}
	r.tellPauses(untold)
}

// tellStarted tells that the run began, and of pauses that were made before.
func (r *running) tellStarted() {
	r.emit(&Started{Origin: r.origin, Note: r.note()})
	r.c.mu.Lock()
	r.toldStarted = true
	untold := r.untoldPauseLocked()
	r.c.mu.Unlock()
	r.tellPauses(untold)
}

// endLocked forgets a pause.
func (c *Consumer) endLocked(p *pause) {
	delete(c.pauses, p)
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
}

// armLocked starts the timer of a pause that ends by itself.
func (c *Consumer) armLocked(p *pause) {
	if !p.until.IsZero() {
		p.timer = time.AfterFunc(time.Until(p.until), func() { c.resume(p) })
	}
}

// armPausesLocked readies the pauses for a run: what is over is forgotten, for the rest timers run. It returns how many
// are left.
func (c *Consumer) armPausesLocked() int {
	c.forgetPausesLocked()
	for p := range c.pauses {
		c.armLocked(p)
	}
	return len(c.pauses)
}

// forgetPausesLocked forgets those that are over.
func (c *Consumer) forgetPausesLocked() {
	now := time.Now()
	for p := range c.pauses {
		if !p.until.IsZero() && !now.Before(p.until) {
			c.endLocked(p)
		}
	}
}

// disarmPausesLocked stops the timers at the end of a run.
func (c *Consumer) disarmPausesLocked() {
	for p := range c.pauses {
		if p.timer != nil {
			p.timer.Stop()
			p.timer = nil
		}
	}
}

// pauseReasons are the reasons for which the consumer is paused, sorted.
func (c *Consumer) pauseReasons() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauseReasonsLocked()
}

func (c *Consumer) pauseReasonsLocked() []string {
	whys := make([]string, 0, len(c.pauses))
	for p := range c.pauses {
		whys = append(whys, p.why)
	}
	slices.Sort(whys)
	return whys
}
