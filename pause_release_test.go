package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// TestPauseGivesBackWhatWasNotBegun pauses a consumer with one message in hand and two in its buffer: those go back at once,
// and the event says for what reason.
func TestPauseGivesBackWhatWasNotBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
		var seen calls
		var ev events
		release := make(chan struct{})
		c := wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d attempt %d", m.Value.ID, m.Attempt())
			<-release
			return wherry.Ack()
		}, wherry.OnEvent(ev.record))
		r := start(t, c)
		synctest.Wait()
		resume := c.Pause("stock-taking")
		synctest.Wait()
		assert.Equal(t, c.Health().InFlight, 1)
		released := eventsOf[*wherry.Released](&ev)
		assert.Equal(t, len(released), 1)
		assert.Equal(t, released[0].Count, 2)
		assert.Equal(t, released[0].Why, "paused")
		close(release)
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"1 attempt 1"})
		resume()
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"1 attempt 1", "2 attempt 1", "3 attempt 1"})
		r.mustEnd()
	})
}

// A stop does not wait for a paused consumer to go on, and says what it leaves, though the pause ends while it stops.
func TestStopInAShortPauseSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		c := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			time.Sleep(time.Second)
			return wherry.Ack()
		}, wherry.Prefetch(1))
		r := start(t, c)
		synctest.Wait()
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
		synctest.Wait()
		c.PauseFor(500*time.Millisecond, "a rest")
		err := r.end()
		var left *wherry.AbandonedError
		assert.True(t, errors.As(err, &left), fmt.Sprint(err))
		assert.Equal(t, *left, wherry.AbandonedError{Left: 2, Topics: []string{"orders"}})
	})
}

// Whoever prepares and starts a consumer without Run has no last look at the end.
func TestStopInAShortPauseOfOneThatIsStartedByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		c := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			time.Sleep(time.Second)
			return wherry.Ack()
		}, wherry.Prefetch(1))
		ctx, stop := context.WithCancel(t.Context())
		run, err := c.Prepare(ctx)
		assert.NoError(t, err)
		result := make(chan error, 1)
		go func() { result <- run(ctx) }()
		synctest.Wait()
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
		synctest.Wait()
		c.PauseFor(500*time.Millisecond, "a rest")
		stop()
		err = <-result
		left, ok := errors.AsType[*wherry.AbandonedError](err)
		assert.True(t, ok && left.Left == 2, fmt.Sprint(err))
	})
}
