package middleware

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/wherryhq/wherry"
)

// A ticket is what a call was let through with.
type ticket struct {
	round uint64
	trial bool
}

func (b *Breaker) lane(next wherry.Next) wherry.Next {
	var known *wherry.Consumer
	return func(ctx context.Context, m wherry.AnyMessage) (o wherry.Outcome) {
		if c := m.Consumer(); c != known {
			b.know(c)
			known = c
		}
		t, instead, ok := b.admit(ctx)
		if !ok {
			return instead
		}
		defer func() {
			v := nothing
			defer func() { // also when Failed panics, or the trial would be waited for
				b.conclude(t, func() string { return b.countLocked(t, v, time.Now()) })
			}()
			v = b.judge(ctx, o) // of a panic o is zero, a retry
		}()
		return next(ctx, m)
	}
}

func (b *Breaker) batchLane(next wherry.BatchNext) wherry.BatchNext {
	var known *wherry.Consumer
	var verdicts []verdict
	return func(ctx context.Context, ab wherry.AnyBatch) (rest wherry.Outcome) {
		if ab.Len() == 0 {
			return next(ctx, ab)
		}
		if c := ab.At(0).Consumer(); c != known {
			b.know(c)
			known = c
		}
		t, instead, ok := b.admit(ctx)
		if !ok {
			return instead
		}
		defer func() {
			verdicts = verdicts[:0]
			defer func() {
				b.conclude(t, func() string { return b.countBatchLocked(t, verdicts, time.Now()) })
			}()
			verdicts = b.judgeBatch(ctx, ab, rest, verdicts)
		}()
		return next(ctx, ab)
	}
}

// know makes the breaker pause c too, at once when it is open.
func (b *Breaker) know(c *wherry.Consumer) {
	b.mu.Lock()
	_, old := b.known[c]
	b.met++
	b.known[c] = b.met
	var left time.Duration
	if !old && b.state == BreakerOpen {
		left = time.Until(b.until)
	}
	why := b.why
	var others map[*wherry.Consumer]uint64
	if !old {
		others = maps.Clone(b.known)
	}
	b.mu.Unlock()
	c.PauseFor(left, why)
	b.forgetStopped(others)
}

// forgetStopped lets go of those that have stopped, of what was known before. One that runs again makes itself known again, and
// may have done so since it was looked at.
func (b *Breaker) forgetStopped(of map[*wherry.Consumer]uint64) {
	maps.DeleteFunc(of, func(c *wherry.Consumer, _ uint64) bool { return c.Health().State != wherry.StateStopped })
	b.mu.Lock()
	defer b.mu.Unlock()
	for c, met := range of {
		if b.known[c] == met {
			delete(b.known, c)
		}
	}
}

// admit lets a call through, now or after a wait, or says what becomes of the message instead.
func (b *Breaker) admit(ctx context.Context) (t ticket, instead wherry.Outcome, ok bool) {
	for {
		b.mu.Lock()
		from := b.state
		if b.state == BreakerOpen {
			if time.Now().Before(b.until) {
				b.mu.Unlock()
				// The pause keeps it at the broker for longer than that, without using up the time that messages may be
				// deferred for.
				return ticket{}, wherry.Defer(shortestPostpone), false
			}
			b.turnLocked(BreakerHalfOpen)
		}
		t, wait := b.ticketLocked()
		until := b.until
		b.mu.Unlock()
		if from == BreakerOpen {
			b.cfg.OnChange(from, BreakerHalfOpen)
		}
		if wait == nil {
			return t, wherry.Outcome{}, true
		}
		late := time.NewTimer(time.Until(until)) // then the trials are given up for another
		select {
		case <-wait:
		case <-late.C:
		case <-ctx.Done():
			late.Stop()
			return ticket{}, postponed(ctx, shortestPostpone), false
		}
		late.Stop()
	}
}

// ticketLocked returns a ticket, or what to wait for before asking again.
func (b *Breaker) ticketLocked() (ticket, <-chan struct{}) {
	if b.state == BreakerClosed {
		return ticket{round: b.round}, nil
	}
	if b.trials == b.cfg.Trials && !time.Now().Before(b.until) {
		b.turnLocked(BreakerHalfOpen) // the trials take too long, or their handlers never return
	}
	if b.trials < b.cfg.Trials {
		b.trials++
		return ticket{round: b.round, trial: true}, nil
	}
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return ticket{}, b.changed
}

// conclude counts what a call found out, unless it began in another state. A reason that count returns opens the breaker.
func (b *Breaker) conclude(t ticket, count func() (why string)) {
	b.mu.Lock()
	if t.round != b.round {
		b.mu.Unlock()
		return
	}
	from := b.state
	var paused map[*wherry.Consumer]uint64
	if why := count(); why != "" {
		b.turnLocked(BreakerOpen)
		b.why = b.cfg.label() + " is open: " + why
		paused = maps.Clone(b.known)
	}
	to, until, why := b.state, b.until, b.why
	b.mu.Unlock()
	if len(paused) > 0 { // nearly no message opens it
		for c := range paused {
			c.PauseFor(time.Until(until), why) // one that has stopped too: it may run again before that is over
		}
		b.forgetStopped(paused) // or their pauses would pile up
	}
	if from != to {
		b.cfg.OnChange(from, to)
	}
}

// turnLocked enters a state.
func (b *Breaker) turnLocked(s BreakerState) {
	b.state = s
	b.round++
	b.inARow, b.trials, b.passed = 0, 0, 0
	b.window.clear()
	b.until = time.Now().Add(b.cfg.OpenFor)
	b.wakeLocked()
}

// wakeLocked makes waiting messages look again.
func (b *Breaker) wakeLocked() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// countBatchLocked counts the messages of a batch in their order. As a trial it failed when one of them did.
func (b *Breaker) countBatchLocked(t ticket, vs []verdict, now time.Time) (why string) {
	if t.trial {
		whole := nothing
		for _, v := range vs {
			whole = max(whole, v)
		}
		return b.countLocked(t, whole, now)
	}
	for _, v := range vs {
		if why := b.countLocked(t, v, now); why != "" {
			return why
		}
	}
	return ""
}

// countLocked counts a verdict. It returns why the breaker is to open, empty when it is not.
func (b *Breaker) countLocked(t ticket, v verdict, now time.Time) (why string) {
	switch {
	case t.trial:
		return b.countTrialLocked(v)
	case v == nothing:
		return ""
	case v == success:
		b.inARow = 0
	default:
		b.inARow++
	}
	calls, failures := 0, 0
	if b.cfg.Ratio != Never {
		calls, failures = b.window.add(now, v == failure)
	}
	switch {
	case v == success:
		return ""
	case b.cfg.InARow != Never && b.inARow >= b.cfg.InARow:
		return fmt.Sprintf("%d failures in a row", b.inARow)
	case b.cfg.Ratio != Never && calls >= b.cfg.MinCalls && float64(failures) >= b.cfg.Ratio*float64(calls):
		return fmt.Sprintf("%d of %d failed", failures, calls)
	default:
		return ""
	}
}

func (b *Breaker) countTrialLocked(v verdict) (why string) {
	switch v {
	case failure:
		return "a trial failed"
	case success:
		b.passed++
		if b.passed == b.cfg.Trials {
			b.turnLocked(BreakerClosed)
		}
	default:
		b.trials-- // another may try
		b.wakeLocked()
	}
	return ""
}
