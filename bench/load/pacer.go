package load

import (
	"context"
	"runtime"
	"time"
)

// A pacer sends at a rate, in an open loop: when each message is meant to go is settled before the first goes, and whatever
// happens to one changes nothing for the others. What is due goes at once, one after another.
//
// It does not sleep while it waits, since no timer is as exact as the gaps of a high rate. After a send it gives way a few times
// to whoever has something to do on its processor. Then it only looks at the clock: giving way costs more than looking, and
// wakes other processors each time.
type pacer struct {
	rate  int
	count int
	limit int64 // for how long it tries, in nanoseconds
	start int64 // when the first message is due, by now

	now  func() int64                  // a clock in nanoseconds, which may be read by anybody
	idle func(until int64, waited int) // waits a little, at most until then, and has done so since the last send
}

// leastExtra is the least time that a pacer goes on for when it is behind; it is as much as its schedule otherwise.
const leastExtra = 5 * time.Second

// newPacer returns a pacer that goes by the system's clock.
func newPacer(rate int, length time.Duration) *pacer {
	made := time.Now()
	return &pacer{
		rate: rate, count: int(int64(rate) * int64(length) / int64(time.Second)), limit: int64(length + max(length, leastExtra)),
		now: func() int64 { return int64(time.Since(made)) },
		idle: func(_ int64, waited int) {
			if waited < mostWays || runtime.GOMAXPROCS(0) == 1 {
				runtime.Gosched()
			}
		},
	}
}

// mostWays is how often a pacer gives way after a send, where others have a processor of their own.
const mostWays = 2

// intended is when message i is meant to go.
func (p *pacer) intended(i int) int64 { return p.start + int64(i)*int64(time.Second)/int64(p.rate) }

// A paced is what a pacer did: as many entries as messages went.
type paced struct {
	sent []int64 // when each went
	late []int64 // how late, as far as it is the pacer's own fault
	end  int64   // when the last was sent
}

// run sends all messages from now on, or those that it can until ctx ends, a send fails, or it is over its limit.
//
// A message is late by the pacer's fault from when it was due, and the sends before it were over, to when the pacer looked
// at the clock and saw it. What the sends before it took is the fault of what is measured, and counts in its latency.
func (p *pacer) run(ctx context.Context, send func(i int) error) (paced, error) {
	var done paced
	done.sent, done.late = make([]int64, 0, p.count), make([]int64, 0, p.count)
	p.start = p.now()
	free := p.start // when the sends before the last wait were over
	waited := 0
	for next := 0; next < p.count; {
		seen := p.now()
		if due := p.intended(next); due > seen {
			p.idle(due, waited)
			waited++
			continue
		}
		waited = 0
		if err := ctx.Err(); err != nil || seen-p.start > p.limit {
			return done, err
		}
		for next < p.count && p.intended(next) <= seen {
			done.sent = append(done.sent, p.now())
			done.late = append(done.late, max(0, seen-max(p.intended(next), free)))
			if err := send(next); err != nil {
				return done, err
			}
			next++
		}
		free = p.now()
		done.end = free
	}
	return done, nil
}
