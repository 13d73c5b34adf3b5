package middleware

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
)

// AdaptiveConfig says how an [AdaptiveLimit] finds its limit. Fields that are zero take their defaults.
type AdaptiveConfig struct {
	// Name tells it from others in mistakes. It may be empty.
	Name string
	// Min and Max are the bounds of the limit. Default 1 and 200.
	Min, Max int
	// Initial is the limit at the start, which is also that of the first measurement: less than what the dependency bears.
	// Default 4, within the bounds.
	Initial int
	// Tolerance is how many times as long as with few calls a call may take before the limit falls. Default 1.25; at
	// least 1. More keeps the dependency busier, and its callers waiting.
	Tolerance float64
	// Smoothing is how much of each correction is made, more than 0 and up to 1. Default 0.2.
	Smoothing float64
	// Window is the least time, and WindowCalls the fewest calls, between two corrections. Default 100 ms and 10; there
	// are never fewer calls than half the limit.
	Window      time.Duration
	WindowCalls int
	// ProbeEvery is how often, at the most, the time that a call takes with few others is measured anew, with half the
	// limit. Default 30 s, and never before a thousand calls, so that it costs little.
	ProbeEvery time.Duration
	// FailureRatio is the share of failed calls, more than 0 and less than 1, over about the last fifty, from which the limit
	// backs off: after each window with failures it loses half of that window's share. Default 0.1, so that a few bad
	// messages change nothing.
	FailureRatio float64
	// Failed tells whether an outcome is a failure. Default: a retry is. A call that overran its deadline is one whatever
	// its outcome. Neither is counted when the consumer is stopping, or the message was taken away. It must be safe for
	// concurrent use. One that panics makes it a panic of the handler, and tells the limit nothing.
	Failed func(o wherry.Outcome) bool
	// OnChange is called after each change of the limit, to measure or for good, without a lock held, by the lane that
	// brought it about and waits for it. Calls may overlap. nil is nobody.
	OnChange func(from, to int)
}

const (
	defaultAdaptiveMax     = 200
	defaultAdaptiveInitial = 4
	defaultTolerance       = 1.25
	defaultSmoothing       = 0.2
	defaultAdaptiveWindow  = 100 * time.Millisecond
	defaultWindowCalls     = 10
	defaultProbeEvery      = 30 * time.Second
	defaultFailureRatio    = 0.1
)

func (c AdaptiveConfig) validate() (bad mistakes) {
	atLeast(&bad, "Min", c.Min, 0)
	atLeast(&bad, "Max", c.Max, 0)
	atLeast(&bad, "Initial", c.Initial, 0)
	least, most := max(c.Min, 1), c.Max
	orElse(&most, max(defaultAdaptiveMax, least))
	if most < least {
		bad.addf("Max is %d, want at least Min, which is %d", most, least)
	} else if c.Initial != 0 && (c.Initial < least || c.Initial > most) {
		bad.addf("Initial is %d, want it between Min and Max, which are %d and %d", c.Initial, least, most)
	}
	if c.Tolerance != 0 && !(c.Tolerance >= 1) {
		bad.addf("Tolerance is %v, want at least 1", c.Tolerance)
	}
	if !(c.Smoothing >= 0 && c.Smoothing <= 1) {
		bad.addf("Smoothing is %v, want more than 0 and up to 1", c.Smoothing)
	}
	positive(&bad, "Window", c.Window)
	atLeast(&bad, "WindowCalls", c.WindowCalls, 0)
	positive(&bad, "ProbeEvery", c.ProbeEvery)
	if !(c.FailureRatio >= 0 && c.FailureRatio < 1) {
		bad.addf("FailureRatio is %v, want more than 0 and less than 1", c.FailureRatio)
	}
	return bad
}

func (c AdaptiveConfig) withDefaults() AdaptiveConfig {
	orElse(&c.Min, 1)
	orElse(&c.Max, max(defaultAdaptiveMax, c.Min))
	orElse(&c.Initial, min(max(defaultAdaptiveInitial, c.Min), c.Max))
	orElse(&c.Tolerance, defaultTolerance)
	orElse(&c.Smoothing, defaultSmoothing)
	orElse(&c.Window, defaultAdaptiveWindow)
	orElse(&c.WindowCalls, defaultWindowCalls)
	orElse(&c.ProbeEvery, defaultProbeEvery)
	orElse(&c.FailureRatio, defaultFailureRatio)
	if c.Failed == nil {
		c.Failed = func(o wherry.Outcome) bool { return o.Kind() == wherry.KindRetry }
	}
	return c
}

// An AdaptiveLimit lets as many handler calls run at once as what they depend on bears: a [Limit] whose number nobody has to
// know. It is made by [NewAdaptiveLimit]. Its methods may be called concurrently.
//
// After each window of calls the limit is corrected by how much longer they took than with few others:
//
//	gradient = tolerance × time with few calls ÷ time now, at least ½ and at most 1
//	limit    = (1 − smoothing) × limit + smoothing × (gradient × limit + √limit)
//
// It grows by its root while calls take no longer, and falls when they queue up. With a dependency that works on k calls at
// once, and on which others wait, it settles where limit − √limit = tolerance × k. A window in which the limit was never
// reached does not let it grow. When too many calls fail it backs off after each window in which some did, by half of their
// share.
//
// This is the gradient limit of Netflix's concurrency-limits with the measured minimum of Envoy's adaptive concurrency:
// every so often the limit is halved for some calls, and what those take is the time with few. Gradient2 of the former
// compares with a long average instead. That suits a server, whose load comes and goes; a consumer with a backlog is always
// at its limit, and an average that follows the overload comes to take it for normal. Vegas compares with the quickest
// single call, and takes messages that cost more than others for a queue. AIMD wants to be told which time is too long.
//
// Calls that have to wait do so in their lanes, in the order they came, within their contexts, as with [Limit]. So the
// limit cannot grow beyond the consumer's concurrency, and a message that waits in a lane is with this process, where no
// other can take it. A call of a batch counts once, and takes as long as the whole. A call that need not wait allocates
// nothing, and there is no goroutine but the lanes.
type AdaptiveLimit struct {
	cfg AdaptiveConfig
	bad mistakes

	mu       sync.Mutex // guards the fields below
	inFlight int
	first    *waiter // of those that wait, in the order they came
	last     *waiter
	waiting  int
	gradient gradient
}

// NewAdaptiveLimit returns a limit that begins at its initial number. What is wrong with c is reported when a consumer that
// uses it starts.
func NewAdaptiveLimit(c AdaptiveConfig) *AdaptiveLimit {
	a := &AdaptiveLimit{bad: c.validate(), cfg: c.withDefaults()}
	a.gradient.init(&a.cfg)
	return a
}

// Option is what puts the limit around the handler of a consumer. Given to several, it is one limit over all of them. A nil
// or zero AdaptiveLimit is an error at start.
func (a *AdaptiveLimit) Option() wherry.ConsumerOption {
	if a == nil || a.gradient.cfg == nil {
		m := mistakes{errors.New("it was not made by NewAdaptiveLimit")}
		return m.invalid("adaptive limit")
	}
	if len(a.bad) > 0 {
		name := "adaptive limit"
		if a.cfg.Name != "" {
			name += " " + a.cfg.Name
		}
		return a.bad.invalid(name)
	}
	return use(
		func(next wherry.Next) wherry.Next {
			w := newWaiter()
			return func(ctx context.Context, m wherry.AnyMessage) (o wherry.Outcome) {
				c, ok := a.begin(ctx, w)
				if !ok {
					return postponed(ctx, shortestPostpone)
				}
				defer func() {
					v := nothing
					defer func() { a.end(c, v) }() // also when Failed panics, or the place would be taken for good
					v = a.judge(ctx, o)            // of a panic o is zero, a retry
				}()
				return next(ctx, m)
			}
		},
		func(next wherry.BatchNext) wherry.BatchNext {
			w := newWaiter()
			return func(ctx context.Context, b wherry.AnyBatch) (o wherry.Outcome) {
				c, ok := a.begin(ctx, w)
				if !ok {
					return postponed(ctx, shortestPostpone)
				}
				defer func() {
					v := nothing
					defer func() { a.end(c, v) }()
					v = a.judgeBatch(ctx, b, o)
				}()
				return next(ctx, b)
			}
		},
	)
}

// AdaptiveState is what an [AdaptiveLimit] knows at a moment.
type AdaptiveState struct {
	// Limit is how many calls may run at once, now: while the time with few calls is measured, half of what it is else.
	Limit int
	// InFlight is how many run. It is more than Limit for a while after that fell.
	InFlight int
	// Waiting is how many wait in their lanes.
	Waiting int
	// Unloaded is how long a call takes with few others, 0 before that was measured; Latency is how long calls took in the
	// last window.
	Unloaded, Latency time.Duration
	// Measuring is whether Unloaded is being measured.
	Measuring bool
}

// String returns the state on one line.
func (s AdaptiveState) String() string {
	return fmt.Sprintf("%d of %d in flight, %d waiting, %v after %v", s.InFlight, s.Limit, s.Waiting, s.Latency, s.Unloaded)
}

// State returns the state. That of a nil AdaptiveLimit is zero.
func (a *AdaptiveLimit) State() AdaptiveState {
	if a == nil || a.gradient.cfg == nil {
		return AdaptiveState{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	g := &a.gradient
	return AdaptiveState{
		Limit: g.now(), InFlight: a.inFlight, Waiting: a.waiting,
		Unloaded: time.Duration(g.unloaded), Latency: time.Duration(g.latency), Measuring: g.probing,
	}
}

// Limit returns how many calls may run at once now.
func (a *AdaptiveLimit) Limit() int { return a.State().Limit }

// judge says what a call says about what the handler depends on.
func (a *AdaptiveLimit) judge(ctx context.Context, o wherry.Outcome) verdict {
	failed := a.cfg.Failed(o)
	if ctx.Err() != nil {
		if taken(context.Cause(ctx)) {
			return nothing
		}
		return failure // overran
	}
	switch {
	case failed:
		return failure
	case o.Kind() == wherry.KindAck, o.Kind() == wherry.KindReject:
		return success
	default:
		return nothing
	}
}

// judgeBatch is judge of a batch, which failed when one of its messages did.
func (a *AdaptiveLimit) judgeBatch(ctx context.Context, b wherry.AnyBatch, rest wherry.Outcome) verdict {
	worst := a.judge(ctx, rest)
	for i := range b.Len() {
		worst = max(worst, a.judge(ctx, outcomeAt(b, i, rest)))
	}
	return worst
}
