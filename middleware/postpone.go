package middleware

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry"
)

const (
	// shortestPostpone keeps messages that wait in vain from going round and round.
	shortestPostpone = time.Second
	longestPostpone  = time.Minute
)

// postponed is the outcome of a message whose context ended before its turn came. Its handler was not called, so there is
// no failure to count: it comes again after d. When the consumer stops, or the broker gave the message to another, it
// goes back as it is instead; the engine makes that of a retry that follows such an end.
func postponed(ctx context.Context, d time.Duration) wherry.Outcome {
	if cause := context.Cause(ctx); taken(cause) {
		return wherry.Retry(cause)
	}
	return wherry.Defer(min(max(d, shortestPostpone), longestPostpone))
}

// taken reports whether a context ended because the message is not the consumer's any more, or will not be soon.
func taken(cause error) bool {
	return errors.Is(cause, wherry.ErrDraining) || errors.Is(cause, wherry.ErrRevoked)
}
