package middleware

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
)

// BreakerState is what a [Breaker] lets through.
type BreakerState uint8

const (
	// BreakerClosed is the state in which everything goes through and is counted. It is the zero value.
	BreakerClosed BreakerState = iota
	// BreakerOpen is the state in which the consumers are paused.
	BreakerOpen
	// BreakerHalfOpen is the state in which a few messages go through to see whether things are well again.
	BreakerHalfOpen
)

// String returns "closed", "open" or "half-open".
func (s BreakerState) String() string {
	switch s {
	case BreakerClosed:
		return "closed"
	case BreakerOpen:
		return "open"
	case BreakerHalfOpen:
		return "half-open"
	default:
		return fmt.Sprintf("BreakerState(%d)", uint8(s))
	}
}

// Never switches a condition of [BreakerConfig] off.
const Never = -1

// BreakerConfig says when a [Breaker] opens and closes. Fields that are zero take their defaults.
type BreakerConfig struct {
	// Name tells it from others in the reason of the pause, which health and events show. It may be empty.
	Name string
	// InARow is the number of failures in a row that opens it. Default 5; [Never] is at no number.
	InARow int
	// Ratio is the share of failures, over 0 and up to 1, among the outcomes of the last Window that opens it, once there
	// were MinCalls of them. Default 0.5; [Never] is at no share.
	Ratio float64
	// Window is the time that Ratio looks back, in tenths. Default 10 s.
	Window time.Duration
	// MinCalls is the number of outcomes below which Ratio says nothing. Default 20.
	MinCalls int
	// OpenFor is how long it stays open. Default 30 s.
	OpenFor time.Duration
	// Trials is the number of messages (or batches) that are let through after that. It closes when all of them succeeded
	// and opens again when one failed. Default 1.
	Trials int
	// Failed tells whether an outcome is a failure. Default: a retry is. An acknowledged or rejected message that did not
	// fail is a success; what else did not, such as a deferred one, says nothing. It must be safe for concurrent use. One that
	// panics makes it a panic of the handler, and says nothing.
	Failed func(o wherry.Outcome) bool
	// OnChange is called after each change of the state, without a lock held. nil is nobody.
	OnChange func(from, to BreakerState)
}

const (
	defaultInARow   = 5
	defaultRatio    = 0.5
	defaultWindow   = 10 * time.Second
	defaultMinCalls = 20
	defaultOpenFor  = 30 * time.Second
)

func (c BreakerConfig) validate() (bad mistakes) {
	natural := func(what string, n int) { atLeast(&bad, what, n, 0) }
	if c.InARow != Never {
		natural("InARow", c.InARow)
	}
	if c.Ratio != Never && !(c.Ratio >= 0 && c.Ratio <= 1) {
		bad.addf("Ratio is %v, want more than 0 and up to 1, or Never", c.Ratio)
	}
	if c.InARow == Never && c.Ratio == Never {
		bad.addf("InARow and Ratio are both Never, so that nothing opens it")
	}
	positive(&bad, "Window", c.Window)
	natural("MinCalls", c.MinCalls)
	positive(&bad, "OpenFor", c.OpenFor)
	natural("Trials", c.Trials)
	return bad
}

func (c BreakerConfig) withDefaults() BreakerConfig {
	orElse(&c.InARow, defaultInARow)
	orElse(&c.Ratio, defaultRatio)
	orElse(&c.Window, defaultWindow)
	orElse(&c.MinCalls, defaultMinCalls)
	orElse(&c.OpenFor, defaultOpenFor)
	orElse(&c.Trials, 1)
	if c.Failed == nil {
		c.Failed = func(o wherry.Outcome) bool { return o.Kind() == wherry.KindRetry }
	}
	if c.OnChange == nil {
		c.OnChange = func(_, _ BreakerState) {}
	}
	return c
}

// label is what it is called.
func (c *BreakerConfig) label() string {
	if c.Name == "" {
		return "breaker"
	}
	return "breaker " + c.Name
}

// A Breaker is a circuit breaker that fails no message: when too many fail, it pauses the consumers that it is an option
// of, so that the messages stay with the broker and keep their attempts. After a time it lets a few through, and goes on
// or pauses again by what becomes of them. It is made by [NewBreaker]. Its methods may be called concurrently.
//
//	closed ── too many failures ──► open ── OpenFor ──► half-open ── all trials succeeded ──► closed
//	                                  ▲                     │
//	                                  └── one trial failed ─┘
//
// A message that a lane had already taken when it opened, and that is not with its handler yet, is deferred: it waits with
// the others. One that comes in the half-open state while others are tried waits for the verdict in its lane. A call that
// began before it opened changes nothing when it ends afterwards, and neither does one that fails because its consumer is
// stopping. A trial that takes longer than OpenFor is given up for another. Of a batch each message counts, in its order;
// as a trial it is one, which failed when one of its messages did.
//
// The pause is the consumers' own, by [wherry.Consumer.PauseFor]: no timer of it outlives a consumer's Run, and a consumer
// that runs again while it is open begins paused. One that it does not know, since it is new or had stopped for long, is paused
// with its first message, which is deferred.
type Breaker struct {
	cfg BreakerConfig
	bad mistakes

	mu      sync.Mutex // guards the fields below
	state   BreakerState
	round   uint64    // raised with each change of state: what began in another one does not count
	until   time.Time // when open: until then; when half-open: for so long the trials may take
	why     string    // it was opened the last time
	inARow  int
	window  callWindow
	trials  int                         // let through in this half-open state
	passed  int                         // of those, succeeded
	changed chan struct{}               // closed when a waiting message should look again; nil while none waits
	known   map[*wherry.Consumer]uint64 // and when each was met the last time
	met     uint64                      // by any, counted
}

// NewBreaker returns a closed breaker. What is wrong with c is reported when a consumer that uses it starts.
func NewBreaker(c BreakerConfig) *Breaker {
	b := &Breaker{bad: c.validate(), cfg: c.withDefaults(), known: make(map[*wherry.Consumer]uint64)}
	b.window.width = b.cfg.Window / windowParts
	return b
}

// Option is what puts the breaker into a consumer. It may be given to several: what one of them finds out pauses all. A nil
// or zero Breaker is an error at start.
func (b *Breaker) Option() wherry.ConsumerOption {
	if b == nil || b.known == nil {
		m := mistakes{errors.New("it was not made by NewBreaker")}
		return m.invalid("breaker")
	}
	if len(b.bad) > 0 {
		return b.bad.invalid(b.cfg.label())
	}
	return use(b.lane, b.batchLane)
}

// State returns the state. It is half-open as soon as the time to be open is over, whether or not a message came.
func (b *Breaker) State() BreakerState {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == BreakerOpen && !time.Now().Before(b.until) {
		return BreakerHalfOpen
	}
	return b.state
}
