package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// newWeakMem is a broker that cannot delay, so that holds are topics.
func newWeakMem(t *testing.T) *mem.Broker {
	t.Helper()
	b := mem.New(mem.Config{Weak: mem.Weak{NoHold: true}, Poison: true})
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return b
}

func TestLadderThroughHoldTopics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWeakMem(t)
		began := time.Now()
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("attempt %d after %v", m.Attempt(), time.Since(began))
			return wherry.Retry(errors.New("never"))
		}, wherry.RetryWith(wherry.RetryPolicy{Jitter: wherry.NoJitter})))
		synctest.Wait()
		publish(t, b, orders, order{ID: 1})
		time.Sleep(time.Minute)
		assert.Equal(t, seen.all(), []string{
			"attempt 1 after 0s", "attempt 2 after 200ms", "attempt 3 after 1s", "attempt 4 after 4.2s", "attempt 5 after 17s",
		})
		r.mustEnd()
		assert.Equal(t, len(collectDead(t, b, wherry.DeadLetters(orders))), 1)
	})
}

// A short delay does not wait behind a long one, and a group's retry reaches that group only.
func TestFault34HoldsAreByDelayAndGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWeakMem(t)
		topic := wherry.NewTopic("prices", codec.JSON[order]{}, wherry.Fanout("fails", "works"))
		began := time.Now()
		var fails, works calls
		const short = 30
		r := start(t,
			wherry.Consume(wherry.Group(b, "fails", topic), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
				if m.Attempt() > 1 {
					fails.add("%d after %v", m.Value.ID, time.Since(began))
					return wherry.Ack()
				}
				if m.Value.ID == short {
					return wherry.RetryAfter(200*time.Millisecond, nil)
				}
				return wherry.RetryAfter(30*time.Second, nil)
			}),
			wherry.Consume(wherry.Group(b, "works", topic), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
				works.add("%d", m.Value.ID)
				return wherry.Ack()
			}))
		synctest.Wait()
		for id := 1; id <= short; id++ { // more long ones than movers
			publish(t, b, topic, order{ID: id})
		}
		time.Sleep(time.Minute)
		r.mustEnd()
		again := fails.all()
		assert.Equal(t, len(again), short)
		assert.Equal(t, again[0], fmt.Sprintf("%d after 200ms", short))
		assert.Equal(t, again[1], "1 after 30s")
		assert.Equal(t, len(works.all()), short)
	})
}

func TestDelayedPublishThroughHoldTopics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newWeakMem(t)
		began := time.Now()
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d attempt %d after %v", m.Value.ID, m.Attempt(), time.Since(began))
			return wherry.Ack()
		}))
		synctest.Wait()
		p, err := wherry.NewPublisher(t.Context(), b, orders)
		assert.NoError(t, err)
		for id, delay := range []time.Duration{46 * time.Second, time.Second, 0} {
			assert.NoError(t, p.Publish(t.Context(), &order{ID: id}, wherry.WithDelay(delay)))
		}
		time.Sleep(2 * time.Minute)
		assert.NoError(t, p.Close(t.Context()))
		r.mustEnd()
		// Rounded up to what the steps can make: 0.8 + 0.2 s, and 30 + 12.8 + 3.2 s.
		assert.Equal(t, seen.all(), []string{"2 attempt 1 after 0s", "1 attempt 1 after 1s", "0 attempt 1 after 46s"})
	})
}
