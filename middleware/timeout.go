package middleware

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
)

// ErrTimeout is what the cause of a context matches that ended at the deadline of [Timeout].
var ErrTimeout = errors.New("middleware: timeout")

// Timeout ends the context of each handler call after d, with a cause that matches [ErrTimeout]. Each attempt has a
// context and a deadline of its own, and nothing that follows the call (retry, dead letter) is under it. The lane waits
// for the handler whatever it does, and the outcome it then returns counts. In a batch d is for the whole call.
//
// It makes a context for every message, which costs fifteen allocations and a timer. One deadline for all of a
// consumer's messages costs nothing as [wherry.HandlerTimeout]; this one is for a deadline inside of other middleware, so
// that for example the wait of a [Throttle] further out does not count. A d of zero or less is an error at start.
func Timeout(d time.Duration) wherry.ConsumerOption {
	if d <= 0 {
		var m mistakes
		m.addf("the time is %v, want more than 0", d)
		return m.invalid("timeout")
	}
	cause := fmt.Errorf("%w of %v", ErrTimeout, d)
	return use(
		func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				ctx, stop := context.WithTimeoutCause(ctx, d, cause)
				defer stop()
				return next(ctx, m)
			}
		},
		func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				ctx, stop := context.WithTimeoutCause(ctx, d, cause)
				defer stop()
				return next(ctx, b)
			}
		},
	)
}
