package wherry_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// told notes the events of pauses, and how many of its calls are inside of each other.
type told struct {
	texts       []string
	depth, most int
}

func (o *told) note(e wherry.Event) (done func()) {
	o.depth++
	o.most = max(o.most, o.depth)
	switch e := e.(type) {
	case *wherry.Paused:
		o.texts = append(o.texts, "paused: "+e.Why)
	case *wherry.Resumed:
		o.texts = append(o.texts, fmt.Sprint("resumed after ", e.After))
	}
	return func() { o.depth-- }
}

// An event function that pauses and resumes at every event made an event inside of each, until the stack was full.
func TestAnEventFunctionPausesAtEveryEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen told
		var c *wherry.Consumer
		c, handled := arrivals(t, 3, wherry.Concurrency(1), wherry.OnEvent(func(e wherry.Event) {
			defer seen.note(e)()
			if seen.depth < 100 { // a stack that overflows cannot be reported
				c.Pause("in an event")()
			}
		}))
		go func() {
			time.Sleep(time.Second)
			resume := c.Pause("a rest")
			time.Sleep(time.Second)
			resume()
		}()
		runFor(t, c, time.Minute)
		assert.Equal(t, len(handled()), 3)
		assert.True(t, seen.most <= 2, "it is called deeper and deeper")
		assert.True(t, slices.Contains(seen.texts, "paused: a rest"), "the pause is told")
		assert.Equal(t, seen.texts[len(seen.texts)-1], "resumed after 1s")
		for i, text := range seen.texts {
			assert.Equal(t, text[:6] == "paused", i%2 == 0)
		}
	})
}

// What an event function does about a pause is told after the pause, in order.
func TestAnEventFunctionEndsAPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var first, second told
		var resume func()
		var c *wherry.Consumer
		c, _ = arrivals(t, 0, wherry.OnEvent(func(e wherry.Event) {
			defer first.note(e)()
			if _, ok := e.(*wherry.Paused); ok {
				c.Pause("another") // one that stays
			}
		}), wherry.OnEvent(func(e wherry.Event) {
			defer second.note(e)()
			if _, ok := e.(*wherry.Resumed); ok {
				return
			}
			if _, ok := e.(*wherry.Paused); ok {
				resume()
			}
		}))
		resume = c.Pause("before it runs")
		runFor(t, c, time.Minute)
		assert.Equal(t, first.texts, []string{"paused: before it runs"})
		assert.Equal(t, second.texts, first.texts)
		assert.Equal(t, c.Health().State, wherry.StateStopped)
	})
}

// Functions that pause for a resume and resume for a pause go on so, at a pace, and hold up nobody.
func TestEventFunctionsThatAnswerEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen told
		var resume func()
		var c *wherry.Consumer
		c, _ = arrivals(t, 0, wherry.OnEvent(func(e wherry.Event) {
			defer seen.note(e)()
			switch e.(type) {
			case *wherry.Paused:
				resume()
			case *wherry.Resumed:
				resume = c.Pause("again")
			}
		}))
		resume = c.Pause("before it runs")
		runFor(t, c, 10*time.Second+time.Millisecond)
		assert.Equal(t, len(seen.texts), 11*8)
		assert.Equal(t, seen.most, 1)
		for i, text := range seen.texts {
			assert.Equal(t, text[:6] == "paused", i%2 == 0)
		}
		n := len(seen.texts)
		time.Sleep(time.Minute)
		assert.Equal(t, len(seen.texts), n) // nothing of a run that ended
	})
}

// What others do while an event function is slow is told when it returns, and does not wait for it.
func TestPausesBesideASlowEventFunction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen told
		c, _ := arrivals(t, 0, wherry.OnEvent(func(e wherry.Event) {
			defer seen.note(e)()
			if _, ok := e.(*wherry.Paused); ok {
				time.Sleep(10 * time.Second)
			}
		}))
		go func() {
			time.Sleep(time.Second)
			c.PauseFor(3*time.Second, "a rest")
		}()
		go func() {
			time.Sleep(6 * time.Second)
			began := time.Now()
			resume := c.Pause("told with the next")
			assert.Equal(t, time.Since(began), 0)
			resume()
		}()
		runFor(t, c, time.Minute)
		assert.Equal(t, seen.texts, []string{"paused: a rest", "resumed after 5s"})
	})
}
