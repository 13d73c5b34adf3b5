package middleware

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A breaker that outlives its consumers lets go of them, at the latest when it opens again.
func TestBreakerForgetsStoppedConsumers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := mem.New(mem.Config{})
		defer broker.Close(context.Background())
		topic := wherry.NewTopic("orders", codec.Text{})
		p, err := wherry.NewPublisher(t.Context(), broker, topic)
		assert.NoError(t, err)
		defer p.Close(context.Background())
		b := NewBreaker(BreakerConfig{InARow: 1, OpenFor: time.Second})
		for range 10 {
			text := "x"
			assert.NoError(t, p.Publish(t.Context(), &text))
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			assert.NoError(t, wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, topic),
				func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
					if m.Attempt() == 1 {
						return wherry.Retry(errors.New("down"))
					}
					return wherry.Ack()
				}, b.Option())))
			stop()
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		assert.True(t, len(b.known) <= 2, "the breaker knows consumers that have stopped")
	})
}
