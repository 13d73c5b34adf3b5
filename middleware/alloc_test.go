//go:build !race

package middleware_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

// allocations is what a message allocates on its way from the publisher through the option to the handler, in process and
// with a codec that copies nothing. Nothing else may run beside it.
func allocations(t *testing.T, opts ...wherry.ConsumeOption) float64 {
	t.Helper()
	b := mem.New(mem.Config{})
	topic := wherry.NewTopic("bytes", codec.BytesView{})
	p, err := wherry.NewPublisher(t.Context(), b, topic)
	assert.NoError(t, err)
	handled := make(chan struct{}, 1)
	c := wherry.Consume(wherry.Queue(b, topic), func(context.Context, *wherry.Message[[]byte]) wherry.Outcome {
		handled <- struct{}{}
		return wherry.Ack()
	}, opts...)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	body := make([]byte, 64)
	one := func() {
		if err := p.Publish(t.Context(), &body); err != nil {
			t.Error(err)
		}
		<-handled
	}
	for range 100 {
		one()
	}
	n := testing.AllocsPerRun(2000, one)
	stop()
	assert.NoError(t, <-done)
	assert.NoError(t, p.Close(t.Context()))
	return n
}

//nolint:paralleltest // What runs beside it would be counted.
func TestAllocations(t *testing.T) {
	off := textLogger(new(page), slog.LevelError+1)
	quiet := textLogger(new(page), slog.LevelWarn)
	for _, c := range []struct {
		name string
		opt  wherry.ConsumeOption
		most float64
	}{
		{"limit", middleware.Limit(1), 0},
		{"adaptive limit", middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{}).Option(), 0},
		{"throttle", middleware.Throttle(middleware.Rate{Messages: 1e9}), 0},
		{"breaker", middleware.NewBreaker(middleware.BreakerConfig{}).Option(), 0},
		{"log that is off", middleware.Log(off, slog.LevelDebug), 0},
		{"log of failures", middleware.Log(quiet, slog.LevelDebug), 0},
		{"recover", middleware.Recover(func(_ context.Context, _ wherry.AnyMessage, p *wherry.PanicError) wherry.Outcome {
			return wherry.Retry(p)
		}), 0},
		{"timeout", middleware.Timeout(time.Minute), 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n := allocations(t, c.opt); n > c.most {
				t.Errorf("%v allocations a message, want at most %v", n, c.most)
			}
		})
	}
}
