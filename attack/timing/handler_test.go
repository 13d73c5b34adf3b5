package timing_test

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry"
)

// wait is a handler's work that takes d.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func ack(context.Context, *wherry.Message[item]) wherry.Outcome { return wherry.Ack() }

// takes is a handler that works for d, if it may.
func takes(d time.Duration) wherry.Handler[item] {
	return func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
		if err := wait(ctx, d); err != nil {
			return wherry.Retry(err)
		}
		return wherry.Ack()
	}
}

// deaf is a handler that works for d whatever its context says.
func deaf(d time.Duration) wherry.Handler[item] {
	return func(context.Context, *wherry.Message[item]) wherry.Outcome {
		_ = wait(context.Background(), d)
		return wherry.Ack()
	}
}

var errTry = errors.New("not this time")

// fails is a handler whose first n attempts fail.
func fails(n int) wherry.Handler[item] {
	return func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Attempt() <= n {
			return wherry.Retry(errTry)
		}
		return wherry.Ack()
	}
}

// steadily is a policy of so many attempts, d apart.
func steadily(attempts int, d time.Duration) wherry.PolicyOption {
	return wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: attempts, Delays: []time.Duration{d}, Jitter: wherry.NoJitter})
}
