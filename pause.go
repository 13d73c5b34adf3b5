package wherry

import (
	"slices"
	"sync"
	"time"
)

// pause is one reason for which a consumer is paused.
type pause struct{ why string }

// Pause stops the consumer from starting on another message until the returned resume was called. Handlers in hand go on;
// what was received and not begun goes back to the broker. Several pauses add up: the consumer goes on when the last is
// resumed. It may be called from a handler or a middleware, and before Run. resume may be called more than once, from any
// goroutine.
func (c *Consumer) Pause(why string) (resume func()) {
	p := &pause{why: why}
	began := time.Now()
	c.mu.Lock()
	c.pauses[p] = struct{}{}
	first := len(c.pauses) == 1
	r := c.running
	if r != nil {
		r.paused.Store(true)
	}
	c.mu.Unlock()
	if r != nil && first {
		for _, w := range r.workers {
			w.share()
		}
		r.emit(&Paused{Origin: r.origin, Why: why})
	}
	var once sync.Once
	return func() { once.Do(func() { c.resume(p, began) }) }
}

func (c *Consumer) resume(p *pause, began time.Time) {
	c.mu.Lock()
	delete(c.pauses, p)
	r := c.running
	last := len(c.pauses) == 0
	if r != nil && last {
		r.paused.Store(false)
	}
	c.mu.Unlock()
	if r != nil && last {
		for _, w := range r.workers {
			w.resume()
		}
		r.emit(&Resumed{Origin: r.origin, After: time.Since(began)})
	}
}

// pauseReasons are the reasons for which the consumer is paused, sorted.
func (c *Consumer) pauseReasons() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	whys := make([]string, 0, len(c.pauses))
	for p := range c.pauses {
		whys = append(whys, p.why)
	}
	slices.Sort(whys)
	return whys
}
