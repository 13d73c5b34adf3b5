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

// A breaker that outlives its consumers lets go of them, whether it opens or not.
func TestBreakerForgetsStoppedConsumers(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"opens": true, "never opens": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { forgetsStopped(t, fails) })
		})
	}
}

func forgetsStopped(t *testing.T, fails bool) {
	t.Helper()
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
				if fails && m.Attempt() == 1 {
					return wherry.Retry(errors.New("down"))
				}
				return wherry.Ack()
			}, b.Option())))
		stop()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	assert.True(t, len(b.known) <= 2, "the breaker knows consumers that have stopped")
}
