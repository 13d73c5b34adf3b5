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

// What waits in a hold topic keeps its lease, and survives that the broker takes it back.
func TestHoldsKeepAndLoseTheirLeases(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(b *mem.Broker){
		"lease":        func(*mem.Broker) {},
		"revoked":      func(b *mem.Broker) { b.Faults().Revoke("orders.hold.30s", time.Minute) },
		"revoked hard": func(b *mem.Broker) { b.Faults().Revoke("orders.hold.30s", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(mem.Config{Lease: 2 * time.Second, Weak: mem.Weak{NoHold: true}})
				defer b.Close(context.Background())
				began := time.Now()
				var seen calls
				r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					seen.add("attempt %d after %v", m.Attempt(), time.Since(began))
					if m.Attempt() == 1 {
						return wherry.RetryAfter(30*time.Second, errors.New("once"))
					}
					return wherry.Ack()
				}))
				synctest.Wait()
				publish(t, b, orders, order{ID: 1})
				time.Sleep(5 * time.Second)
				fault(b)
				time.Sleep(time.Minute)
				r.mustEnd()
				assert.Equal(t, seen.all(), []string{"attempt 1 after 0s", "attempt 2 after 30s"})
			})
		})
	}
}

// A redrive keeps what it passes over until it ends, whatever the lease.
func TestRedriveKeepsWhatItPassesOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Lease: 200 * time.Millisecond})
		defer b.Close(context.Background())
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID%2 == 0 {
				return wherry.Reject(errors.New("even"))
			}
			return wherry.Retry(errors.New("odd"))
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
		for id := range 100 {
			publish(t, b, orders, order{ID: id})
		}
		time.Sleep(time.Second)
		r.mustEnd()
		moved, err := wherry.Redrive(t.Context(), b, orders, wherry.RedriveReason(wherry.ReasonExhausted), wherry.Verify())
		assert.NoError(t, err)
		assert.Equal(t, moved, wherry.Redriven{Moved: 50, Passed: 50})
		assert.Equal(t, depthOf(t, b, "orders"), 50)
		again, err := wherry.Redrive(t.Context(), b, orders, wherry.RedriveLimit(20))
		assert.NoError(t, err)
		assert.Equal(t, again, wherry.Redriven{Moved: 20})
		assert.Equal(t, depthOf(t, b, "orders"), 70)
	})
}

// A paused consumer's messages are counted when a broker that forgets is left.
func TestPausedConsumerCountsWhatItLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1}, order{ID: 2})
		c := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() })
		resume := c.Pause("on purpose")
		r := start(t, c)
		synctest.Wait()
		var left *wherry.AbandonedError
		assert.True(t, errors.As(r.end(), &left), "what is left is an error")
		assert.Equal(t, *left, wherry.AbandonedError{Left: 2, Topics: []string{"orders"}})
		resume()
	})
}

// A broker with small records still carries small messages, with their control data.
func TestSmallRecordsLeaveRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{MaxRecord: 1000})
		defer b.Close(context.Background())
		text := wherry.NewTopic("text", codec.Text{})
		p, err := wherry.NewPublisher(t.Context(), b, text)
		assert.NoError(t, err)
		for _, n := range []int{500, 501} {
			v := fmt.Sprintf("%*d", n, n)
			err := p.Publish(t.Context(), &v)
			assert.Equal(t, errors.Is(err, wherry.ErrTooLarge), n > 500)
			assert.Equal(t, errors.Is(err, wherry.ErrNotSent), n > 500)
		}
		assert.NoError(t, p.Close(t.Context()))
	})
}
