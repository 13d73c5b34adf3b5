package wherry

import (
	"context"
	"math/rand/v2"
	"time"
)

// A backoff is the pauses between tries of what fails: each is twice as long as the one before, up to the longest, and up to a
// quarter longer than that by chance, so that those who failed together do not come back together.
type backoff struct{ first, longest time.Duration }

var (
	receiveBackoff = backoff{100 * time.Millisecond, 2 * time.Second}
	publishBackoff = backoff{50 * time.Millisecond, 5 * time.Second} // of holds too
	settleBackoff  = backoff{50 * time.Millisecond, 2 * time.Second}
	moveBackoff    = backoff{200 * time.Millisecond, 30 * time.Second} // of commits too
	openBackoff    = backoff{100 * time.Millisecond, 30 * time.Second} // of receivers that ended
)

// after is the pause after so many failures in a row. There is none where nothing failed.
func (b backoff) after(failures int) time.Duration {
	if failures <= 0 {
		return 0
	}
	d := b.first
	for n := 1; n < failures && d < b.longest; n++ {
		d = min(2*d, b.longest)
	}
	return d + time.Duration(rand.Int64N(int64(d)/4+1))
}

// sleep waits for d or the end of ctx, whose cause it returns.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
