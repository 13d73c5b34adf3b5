package wherry

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// A RetryPolicy says how often and when a failed message is tried again. Fields that are zero take their defaults, so the
// zero policy is the default one: 5 attempts, delays of 200 ms, 800 ms, 3.2 s and 12.8 s, each up to 20 % longer.
//
// A consumer's policy replaces its topic's as a whole.
type RetryPolicy struct {
	// MaxAttempts is the number of failed handler calls after which a message goes to the dead letters. Default 5;
	// 1 means that nothing is tried again.
	MaxAttempts int
	// Delays are the waits after the first, second, … failure. The last one serves all that follow. When it is empty,
	// First, Factor and Max give the waits instead, and otherwise they are not looked at. [RetryWith] copies it.
	Delays []time.Duration
	// First is the wait after the first failure (default 200 ms), Factor what each wait grows by (default 4, at least
	// 1), Max the longest wait (default 30 s, or First where that is longer).
	First  time.Duration
	Factor float64
	Max    time.Duration
	// Jitter is the share of a wait that is added at random, from 0 to 1: 0.2 makes it up to 20 % longer and never
	// shorter. Default 0.2; [NoJitter] is none.
	Jitter float64
	// ForError may choose another policy by the error of the attempt that failed; nil keeps this one. It is called with
	// nil errors too, must be safe for concurrent use, and its result's own ForError is not asked. One that panics, or
	// chooses a policy that RetryWith would refuse, has chosen nothing. What the chosen policy leaves zero has the default's
	// value, not this one's.
	ForError func(err error) *RetryPolicy
}

// NoJitter is a [RetryPolicy.Jitter] of nothing.
const NoJitter = -1

const (
	defaultMaxAttempts = 5
	defaultFirstDelay  = 200 * time.Millisecond
	defaultFactor      = 4
	defaultMaxDelay    = 30 * time.Second
	defaultJitter      = 0.2
)

// withDefaults returns p with its zero fields filled.
func (p RetryPolicy) withDefaults() RetryPolicy {
	if p.MaxAttempts == 0 {
		p.MaxAttempts = defaultMaxAttempts
	}
	if p.First == 0 {
		p.First = defaultFirstDelay
	}
	if p.Factor == 0 {
		p.Factor = defaultFactor
	}
	if p.Max == 0 {
		p.Max = max(defaultMaxDelay, p.First)
	}
	switch p.Jitter {
	case 0:
		p.Jitter = defaultJitter
	case NoJitter:
		p.Jitter = 0
	}
	return p
}

// validate lists what is wrong with p.
func (p RetryPolicy) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf("retry policy: "+format, args...)) }
	if p.MaxAttempts < 0 {
		bad("MaxAttempts is %d, want at least 1", p.MaxAttempts)
	}
	for i, d := range p.Delays {
		if d < 0 {
			bad("Delays[%d] is %v, want 0 or more", i, d)
		}
	}
	if p.First < 0 {
		bad("First is %v, want 0 or more", p.First)
	}
	if p.Factor != 0 && !(p.Factor >= 1) {
		bad("Factor is %v, want at least 1", p.Factor)
	}
	if p.Max < 0 {
		bad("Max is %v, want 0 or more", p.Max)
	} else if p.Max != 0 && p.Max < p.First {
		bad("Max is %v, shorter than First, %v", p.Max, p.First)
	}
	if p.Jitter != NoJitter && !(p.Jitter >= 0 && p.Jitter <= 1) {
		bad("Jitter is %v, want 0 to 1 or NoJitter", p.Jitter)
	}
	return errors.Join(errs...)
}

// delay is the wait after the given number of failures (1 or more), without jitter. It changes nothing: asking again
// gives the same answer.
func (p *RetryPolicy) delay(failures int) time.Duration {
	failures = max(failures, 1)
	if n := len(p.Delays); n > 0 {
		return p.Delays[min(failures, n)-1]
	}
	if failures == 1 {
		return min(p.First, p.Max)
	}
	d := float64(p.First)
	for range failures - 1 {
		d *= p.Factor
		if d >= float64(p.Max) { // before it no longer fits a Duration
			return p.Max
		}
		if d <= float64(p.First) {
			return min(p.First, p.Max) // it does not grow
		}
	}
	return min(time.Duration(d), p.Max)
}

// jittered makes d up to Jitter longer.
func (p *RetryPolicy) jittered(d time.Duration) time.Duration {
	if p.Jitter <= 0 || d <= 0 {
		return d
	}
	more := rand.Float64() * p.Jitter * float64(d)
	if more >= float64(math.MaxInt64-d) {
		return math.MaxInt64
	}
	return d + time.Duration(more)
}

// forError is the policy that counts for err.
func (p *RetryPolicy) forError(err error) *RetryPolicy {
	if p.ForError == nil {
		return p
	}
	other := p.askForError(err)
	if other == nil || other.validate() != nil {
		return p
	}
	filled := other.withDefaults()
	return &filled
}

// askForError is nil, as if the function had chosen nothing, when it panics: the message is retried all the same.
func (p *RetryPolicy) askForError(err error) (other *RetryPolicy) {
	defer func() {
		if recover() != nil {
			other = nil
		}
	}()
	return p.ForError(err)
}
