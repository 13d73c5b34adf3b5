package middleware_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// panicking is a Failed that panics at its first few calls.
func panicking(few int64) func(wherry.Outcome) bool {
	var asked atomic.Int64
	return func(o wherry.Outcome) bool {
		if asked.Add(1) <= few {
			panic("it cannot tell")
		}
		return o.Kind() == wherry.KindRetry
	}
}

// A place of the limit comes back when the function that is asked of an outcome panics.
func TestAdaptiveLimitOutlivesFailed(t *testing.T) {
	t.Parallel()
	for _, batches := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			a := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Max: 2, Failed: panicking(5)})
			r.publish(numbers(20)...)
			var handled atomic.Int64
			if batches {
				h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
					handled.Add(int64(b.Len()))
					return wherry.Ack()
				}
				r.runHard(time.Minute, r.consumeBatch(h, a.Option(), wherry.BatchSize(1)))
			} else {
				h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
					handled.Add(1)
					return wherry.Ack()
				}
				r.runHard(time.Minute, r.consume(h, a.Option(), wherry.Concurrency(4)))
			}
			assert.Equal(t, a.State().InFlight, 0)
			assert.Equal(t, handled.Load(), 25) // five of them twice
		})
	}
}

// A trial of which that function cannot tell is no trial, and the next message is another at once.
func TestBreakerOutlivesFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		tries := 0
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 1, OpenFor: 10 * time.Second, OnChange: r.changes, Failed: func(o wherry.Outcome) bool {
			if tries++; tries == 2 {
				panic("it cannot tell")
			}
			return o.Kind() == wherry.KindRetry
		}})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			if m.Attempt() == 1 && m.Value == "0000" {
				return wherry.Retry(errDown)
			}
			return wherry.Ack()
		}
		r.publish(numbers(3)...)
		r.runHard(12*time.Second, r.consume(h, b.Option(), slowly(), wherry.DrainTime(0)))
		assert.Equal(t, b.State(), middleware.BreakerClosed)
	})
}
