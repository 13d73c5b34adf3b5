package middleware

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry"
)

// A Rate is how fast messages may go. The zero Rate is an error at start: it says no number.
type Rate struct {
	// Messages is how many may go per Per, at least 1.
	Messages int
	// Per is the time for that many, default a second.
	Per time.Duration
	// Burst is how many may go at once after a quiet time. Default: what the rate gives in 10 ms, and at least 1, so that
	// they go evenly, and yet a fast rate does not depend on the grain of timers.
	Burst int
}

const (
	defaultPer = time.Second
	burstTime  = 10 * time.Millisecond
)

func (r Rate) validate() (bad mistakes) {
	atLeast(&bad, "Messages", r.Messages, 1)
	positive(&bad, "Per", r.Per)
	atLeast(&bad, "Burst", r.Burst, 0)
	return bad
}

func (r Rate) withDefaults() Rate {
	if r.Per == 0 {
		r.Per = defaultPer
	}
	if r.Burst == 0 {
		r.Burst = max(1, int(float64(r.Messages)*float64(burstTime)/float64(r.Per)))
	}
	return r
}

// Throttle lets messages go at a rate, over all the lanes and consumers that the value is given to. Each waits for its turn
// in its lane, in the order they came, within its context. One whose context ends first is deferred, since its handler was
// never called; at a stop it goes back to the broker. A batch waits once, and then counts as the number of its messages;
// one of more than Burst goes when Burst could, and what follows waits the longer. A message that need not wait allocates
// nothing.
//
// A rate of less than one message per handler timeout needs a longer one: see [wherry.HandlerTimeout].
func Throttle(r Rate) wherry.ConsumerOption {
	if bad := r.validate(); len(bad) > 0 {
		return bad.invalid("throttle")
	}
	k := newBucket(r.withDefaults())
	return use(
		func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				if !k.take(ctx, 1) {
					return postponed(ctx, k.backlog())
				}
				return next(ctx, m)
			}
		},
		func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				if !k.take(ctx, b.Len()) {
					return postponed(ctx, k.backlog())
				}
				return next(ctx, b)
			}
		},
	)
}

// A bucket fills with tokens at an even rate, up to its burst. Who wants some queues for the turn; who has it waits until
// they are there.
type bucket struct {
	turn    slots
	waiting atomic.Int64
	every   float64 // nanoseconds a token
	burst   float64

	// Whoever has the turn has the fields below.
	tokens float64   // less than nothing after a batch that took more than there was
	last   time.Time // when they were counted
}

func newBucket(r Rate) *bucket {
	return &bucket{turn: make(slots, 1), every: float64(r.Per) / float64(r.Messages), burst: float64(r.Burst)}
}

// take waits for n tokens. It is false when ctx ended first, and then nothing was taken.
func (k *bucket) take(ctx context.Context, n int) bool {
	if !k.turn.tryTake() {
		k.waiting.Add(1)
		ok := k.turn.take(ctx)
		k.waiting.Add(-1)
		if !ok {
			return false
		}
	}
	defer k.turn.give()
	wait := k.grab(time.Now(), n)
	return wait == 0 || k.wait(ctx, n, wait)
}

// wait waits for the tokens that are missing.
func (k *bucket) wait(ctx context.Context, n int, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return false
		}
		d = k.grab(time.Now(), n)
		if d == 0 {
			return true
		}
		t.Reset(d)
	}
}

// slack is what a sum of fractions may be short of a whole token.
const slack = 1e-6

// grab takes n tokens and returns 0, or returns how long it is until they are there.
func (k *bucket) grab(now time.Time, n int) time.Duration {
	if k.last.IsZero() {
		k.tokens = k.burst
	} else if gone := now.Sub(k.last); gone > 0 {
		k.tokens = min(k.tokens+float64(gone)/k.every, k.burst)
	}
	k.last = now
	need := min(float64(n), k.burst)
	if k.tokens+slack >= need {
		k.tokens -= float64(n)
		return 0
	}
	return time.Duration(math.Ceil((need - k.tokens) * k.every))
}

// backlog is about how long those who wait now will take.
func (k *bucket) backlog() time.Duration {
	return time.Duration(float64(k.waiting.Load()+1) * k.every)
}
