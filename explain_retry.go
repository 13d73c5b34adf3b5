package wherry

import (
	"math"
	"time"
)

// A RetryPlan is when a failed message is tried again, with the times of this broker.
type RetryPlan struct {
	// MaxAttempts is the number of failed handler calls after which a message is given up; 0 where it is tried again until it
	// succeeds, as under [Block].
	MaxAttempts int `json:"max_attempts"`
	// Steps are the waits, equal ones as one step. It is empty where nothing is tried again. Without an end the last is repeated.
	Steps []RetryStep `json:"steps"`
	// Shortest and Longest are all waits together, without what the handler takes and what the broker adds; 0 without an end.
	// Longest is 0 too where it is not known.
	Shortest time.Duration `json:"shortest_ns"`
	Longest  time.Duration `json:"longest_ns"`
	// Jitter is the share of a wait that is added at random at the most.
	Jitter float64 `json:"jitter"`
	// ByError tells that the policy may choose another by the error, of which nothing is said here.
	ByError bool `json:"by_error,omitempty"`
	// DeadLetters is where a message goes that is given up or rejected; empty is nowhere.
	DeadLetters string `json:"dead_letters,omitempty"`
}

// A RetryStep is the wait after each of the failures First to Last.
type RetryStep struct {
	First    int           `json:"first"`
	Last     int           `json:"last"`
	Shortest time.Duration `json:"shortest_ns"`
	// Longest is with jitter and what the broker rounds up. It is 0 where that is not known before the consumer runs: a broker
	// that cannot delay has hold topics, whose steps may be a good deal longer than the wait.
	Longest time.Duration `json:"longest_ns"`
	// Hops is how often the broker holds the copy one after another, where its longest hold is shorter than the wait.
	Hops int `json:"hops,omitempty"`
	// Via are the hold topics that the copy goes through at the shortest wait, where the broker cannot delay.
	Via []string `json:"via,omitempty"`
}

// mostSteps bounds a plan. What is beyond is one step, from the wait after it to the longest.
const mostSteps = 32

func (e *explainer) retries() RetryPlan {
	p := e.spec.retry
	plan := RetryPlan{
		MaxAttempts: p.MaxAttempts, Steps: []RetryStep{}, Jitter: p.Jitter, ByError: p.ForError != nil, DeadLetters: e.deadLetters(),
	}
	most, unknown := p.MaxAttempts-1, false
	if e.blocks() {
		plan.MaxAttempts, most = 0, max(most, 1)
	}
	for i := 1; i <= most; {
		last := e.sameUntil(p, i, most)
		if len(plan.Steps) == mostSteps-1 {
			last = most
		}
		step := e.step(p, i, last)
		plan.Steps = append(plan.Steps, step)
		n := last - i + 1
		plan.Shortest = saturated(plan.Shortest, step.Shortest, n)
		plan.Longest = saturated(plan.Longest, step.Longest, n)
		if step.Longest < step.Shortest {
			unknown = true
		}
		i = last + 1
	}
	if e.blocks() {
		plan.Shortest, plan.Longest = 0, 0
	}
	if unknown {
		plan.Longest = 0
	}
	return plan
}

// triesAgain reports whether a message that failed may be tried again.
func (e *explainer) triesAgain() bool { return e.spec.retry.MaxAttempts > 1 || e.blocks() }

// sameUntil is the last failure, up to most, after which the wait is that after failure i.
func (e *explainer) sameUntil(p *RetryPolicy, i, most int) int {
	d := p.delay(i)
	if len(p.Delays) == 0 && p.delay(most) == d || len(p.Delays) > 0 && i >= len(p.Delays) {
		return most // it never shrinks
	}
	last := i
	for last < most && p.delay(last+1) == d {
		last++
	}
	return last
}

// step is the wait after the failures first to last, of which the last has the longest.
func (e *explainer) step(p *RetryPolicy, first, last int) RetryStep {
	shortest, longest := p.delay(first), p.delay(last)
	for i := first; len(p.Delays) > 0 && i <= min(last, len(p.Delays)); i++ {
		shortest, longest = min(shortest, p.delay(i)), max(longest, p.delay(i))
	}
	s := RetryStep{First: first, Last: last, Shortest: shortest, Longest: jitteredMost(longest, p.Jitter)}
	switch {
	case e.source.manner.keeps():
	case e.known == KnownNot:
		s.Longest = 0
	case e.broker.Holds:
		s.Shortest, s.Longest = roundedUp(s.Shortest, e.broker.Info.DelayGrain), roundedUp(s.Longest, e.broker.Info.DelayGrain)
		if longest := e.broker.MaxHold; longest > 0 && s.Longest > longest {
			s.Hops = int((s.Longest-1)/longest) + 1
		}
	default:
		s.Shortest, s.Longest, s.Via = e.throughHolds(s.Shortest, s.Longest)
	}
	return s
}

// throughHolds is how long copies wait in hold topics that are to wait from shortest to longest, and by which topics.
func (e *explainer) throughHolds(shortest, longest time.Duration) (from, to time.Duration, via []string) {
	from, via = e.holdWay(shortest)
	to = from
	const looks = 64 // a wait that is a little longer may go by a step that is much longer
	for i := range looks + 1 {
		wait := shortest + time.Duration(float64(longest-shortest)*float64(i)/looks)
		stays, _ := e.holdWay(wait)
		to, from = max(to, stays), min(from, stays)
	}
	return from, to, via
}

// holdWay is how long a copy is in hold topics that is to wait, and in which.
func (e *explainer) holdWay(wait time.Duration) (stays time.Duration, via []string) {
	const most = 16
	for left := wait; ; {
		class, stay := holdHop(left)
		if len(via) < most {
			via = append(via, holdTopic(e.source.topic.name, e.source.group, class).Name)
		}
		stays = saturated(stays, stay, 1)
		if left -= stay; left <= 0 {
			return stays, via
		}
	}
}

func jitteredMost(d time.Duration, jitter float64) time.Duration {
	more := float64(d) * jitter
	if more >= float64(math.MaxInt64-d) {
		return math.MaxInt64
	}
	return d + time.Duration(more)
}

func roundedUp(d, grain time.Duration) time.Duration {
	if grain <= 0 || d%grain == 0 || d > math.MaxInt64-grain {
		return d
	}
	return d - d%grain + grain
}

// saturated is sum + n*d, or the largest there is.
func saturated(sum, d time.Duration, n int) time.Duration {
	if d > 0 && time.Duration(n) > (math.MaxInt64-sum)/d {
		return math.MaxInt64
	}
	return sum + d*time.Duration(n)
}
