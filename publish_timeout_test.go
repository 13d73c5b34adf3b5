package wherry_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A publish that took its time and was not sent says so in the way of every time limit, whoever set it.
func TestPublishTimeoutIsADeadline(t *testing.T) {
	t.Parallel()
	for name, cfg := range joins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(cfg)
				defer b.Close(context.Background())
				p, err := wherry.NewPublisher(t.Context(), b, orders, wherry.PublishTimeout(time.Minute))
				assert.NoError(t, err)
				defer p.Close(context.Background())
				publishMany(t, b, orders, cfg.MaxMessages)
				began := time.Now()
				for _, err := range []error{
					p.Publish(t.Context(), &order{ID: 1}),
					p.PublishAll(t.Context(), slices.Values([]*order{{ID: 2}})),
				} {
					assert.ErrorIs(t, err, wherry.ErrNotSent)
					assert.ErrorIs(t, err, context.DeadlineExceeded)
				}
				assert.Equal(t, time.Since(began), 2*time.Minute)
			})
		})
	}
}

// The engine's other time limits are deadlines for whatever is called within them, too.
func TestHandlerTimeoutIsADeadline(t *testing.T) {
	t.Parallel()
	assert.ErrorIs(t, wherry.ErrHandlerTimeout, context.DeadlineExceeded)
}

// A policy is what it was when it was given: its delays may change afterwards.
func TestRetryPolicyKeepsItsDelays(t *testing.T) {
	t.Parallel()
	delays := []time.Duration{time.Minute}
	c := wherry.Consume(wherry.Queue(newMem(t), orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
		return wherry.Ack()
	}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2, Delays: delays, Jitter: wherry.NoJitter}))
	delays[0] = time.Hour
	assert.Equal(t, wherry.Explain(c).Consumers[0].Retries.Steps[0].Shortest, time.Minute)
}
