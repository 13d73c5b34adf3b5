package middleware

import (
	"context"

	"github.com/wherryhq/wherry"
)

// Limit lets n handler calls run at once, over all the consumers that the value is given to: a bulkhead around something
// that they share. A call of a batch counts once. The others wait in their lanes, in the order they came, within their
// message's context. One whose context ends first is deferred, since its handler was never called; at a stop it goes back
// to the broker. A call that need not wait allocates nothing. An n of less than 1 is an error at start.
func Limit(n int) wherry.ConsumerOption {
	var bad mistakes
	atLeast(&bad, "the number", n, 1)
	if len(bad) > 0 {
		return bad.invalid("limit")
	}
	s := make(slots, n)
	return use(
		func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				if !s.take(ctx) {
					return postponed(ctx, shortestPostpone)
				}
				defer s.give()
				return next(ctx, m)
			}
		},
		func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				if !s.take(ctx) {
					return postponed(ctx, shortestPostpone)
				}
				defer s.give()
				return next(ctx, b)
			}
		},
	)
}

// slots are a semaphore. Who waits on a full channel gets in by the order of coming, and before anybody new.
type slots chan struct{}

// take waits for a slot. It is false when ctx ended first. A context that need not be waited on is not touched.
func (s slots) take(ctx context.Context) bool {
	if s.tryTake() {
		return true
	}
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s slots) tryTake() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) give() { <-s }
