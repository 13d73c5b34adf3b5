package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// arrivals publishes n messages to a new topic and returns a consumer of it that notes how long after the start each was
// handled.
func arrivals(t *testing.T, n int, opts ...wherry.ConsumeOption) (c *wherry.Consumer, seen func() []time.Duration) {
	t.Helper()
	broker := mem.New(mem.Config{})
	topic := wherry.NewTopic("orders", codec.Text{})
	p, err := wherry.NewPublisher(t.Context(), broker, topic)
	assert.NoError(t, err)
	for i := range n {
		v := fmt.Sprint(i)
		assert.NoError(t, p.Publish(t.Context(), &v))
	}
	assert.NoError(t, p.Close(t.Context()))
	began := time.Now()
	var at []time.Duration
	h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
		at = append(at, time.Since(began).Round(10*time.Millisecond))
		return wherry.Ack()
	}
	return wherry.Consume(wherry.Queue(broker, topic), h, opts...), func() []time.Duration { return at }
}

// runFor runs c until d has passed.
func runFor(t *testing.T, c *wherry.Consumer, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), d)
	defer stop()
	assert.NoError(t, c.Run(ctx))
}

func TestPauseForEndsByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, seen := arrivals(t, 1)
		c.PauseFor(time.Second, "a rest")
		go func() {
			time.Sleep(500 * time.Millisecond)
			h := c.Health()
			assert.Equal(t, h.State, wherry.StatePaused)
			assert.Equal(t, h.Cause, "a rest")
			assert.True(t, h.Ready, "a paused consumer is not ready")
		}()
		runFor(t, c, 2*time.Second)
		assert.Equal(t, seen(), []time.Duration{time.Second})
	})
}

func TestPauseForResumedEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var resumed atomic.Int64
		c, seen := arrivals(t, 1, wherry.OnEvent(func(e wherry.Event) {
			if _, ok := e.(*wherry.Resumed); ok {
				resumed.Add(1)
			}
		}))
		go func() {
			resume := c.PauseFor(time.Second, "a rest")
			time.Sleep(300 * time.Millisecond)
			resume()
			resume()
		}()
		c.PauseFor(0, "nothing")
		c.PauseFor(-time.Second, "nothing")
		time.Sleep(time.Millisecond)
		runFor(t, c, 5*time.Second)
		assert.Equal(t, seen(), []time.Duration{300 * time.Millisecond})
		assert.Equal(t, resumed.Load(), 1)
	})
}

func TestPauseForOutlivesRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		take := func() []string {
			mu.Lock()
			defer mu.Unlock()
			taken := events
			events = nil
			return taken
		}
		c, seen := arrivals(t, 0, wherry.OnEvent(func(e wherry.Event) {
			mu.Lock()
			defer mu.Unlock()
			text := fmt.Sprintf("%T", e)
			switch e := e.(type) {
			case *wherry.Paused:
				text += ": " + e.Why
			case *wherry.Resumed:
				text += " after " + e.After.String()
			}
			events = append(events, text)
		}))
		go func() {
			time.Sleep(time.Second)
			c.PauseFor(10*time.Second, "a long rest")
		}()
		runFor(t, c, 2*time.Second)
		assert.Equal(t, take(), []string{"*wherry.Started", "*wherry.Paused: a long rest", "*wherry.Stopped"})
		assert.Equal(t, seen(), nil)

		// What is left of the pause holds for the next run.
		runFor(t, c, 12*time.Second)
		assert.Equal(t, take(), []string{"*wherry.Started", "*wherry.Paused: a long rest", "*wherry.Resumed after 9s", "*wherry.Stopped"})

		// A pause that ended while nothing ran is forgotten.
		c.PauseFor(time.Second, "a rest")
		time.Sleep(2 * time.Second)
		runFor(t, c, time.Second)
		assert.Equal(t, take(), []string{"*wherry.Started", "*wherry.Stopped"})
	})
}

// What is told of several pauses is how long the consumer stood still.
func TestResumedIsAfterAllPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var after []time.Duration
		c, _ := arrivals(t, 0, wherry.OnEvent(func(e wherry.Event) {
			if e, ok := e.(*wherry.Resumed); ok {
				after = append(after, e.After)
			}
		}))
		over := make(chan struct{})
		go func() {
			defer close(over)
			time.Sleep(time.Second)
			first := c.Pause("one")
			time.Sleep(9 * time.Second)
			second := c.Pause("another")
			time.Sleep(time.Second)
			first()
			time.Sleep(time.Second)
			second()
		}()
		runFor(t, c, 20*time.Second)
		<-over
		assert.Equal(t, after, []time.Duration{11 * time.Second})
	})
}

func TestInvalidFailsAtStart(t *testing.T) {
	t.Parallel()
	wrong := errors.New("the flux is negative")
	c, _ := arrivals(t, 0, wherry.Invalid(wrong), wherry.Invalid(nil))
	err := c.Run(t.Context())
	assert.ErrorIs(t, err, wrong)
	assert.Equal(t, err.Error(), "wherry: consume orders: the flux is negative\nwherry: consume orders: an option is invalid")
}

// A middleware of batches sees what another one further in took out, once that one is done.
func TestSkippedIsBackFurtherOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := mem.New(mem.Config{})
		topic := wherry.NewTopic("orders", codec.Text{})
		p, err := wherry.NewPublisher(t.Context(), broker, topic)
		assert.NoError(t, err)
		for _, v := range []string{"a", "b", "c"} {
			assert.NoError(t, p.Publish(t.Context(), &v))
		}
		assert.NoError(t, p.Close(t.Context()))
		var before, inside, after int
		var second wherry.Outcome
		outer := func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				before = b.Len()
				o := next(ctx, b)
				after = b.Len()
				second, _ = b.Outcome(1)
				assert.Equal(t, string(b.At(1).Body()), "b")
				return o
			}
		}
		inner := func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				b.Skip(1, wherry.Reject(nil))
				return next(ctx, b)
			}
		}
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			inside = b.Len()
			return wherry.Ack()
		}
		c := wherry.ConsumeBatch(wherry.Queue(broker, topic), h, wherry.UseBatch(outer, inner))
		runFor(t, c, time.Second)
		assert.Equal(t, []int{before, inside, after}, []int{3, 2, 3})
		assert.Equal(t, second.Kind(), wherry.KindReject)
	})
}
