package middleware

import (
	"context"
	"errors"
	"maps"
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

// One that has stopped when it opens, and runs again while it is open, begins paused: its messages stay with the broker.
func TestBreakerPausesWhoRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := mem.New(mem.Config{})
		defer broker.Close(context.Background())
		began := time.Now()
		b := NewBreaker(BreakerConfig{InARow: 1, OpenFor: 10 * time.Second})
		var handled []time.Duration
		consumer := func(name string, of func() wherry.Outcome) (c *wherry.Consumer, publish func()) {
			topic := wherry.NewTopic(name, codec.Text{})
			c = wherry.Consume(wherry.Queue(broker, topic), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
				handled = append(handled, time.Since(began))
				return of()
			}, b.Option(), wherry.NoDeadLetters(), wherry.DrainTime(0), wherry.OnEvent(func(e wherry.Event) {
				if _, is := e.(*wherry.Deferred); is {
					t.Error("a message was taken, and put off")
				}
			}))
			return c, func() {
				p, err := wherry.NewPublisher(t.Context(), broker, topic)
				assert.NoError(t, err)
				assert.NoError(t, p.Publish(t.Context(), new("x")))
				assert.NoError(t, p.Close(t.Context()))
			}
		}
		run := func(c *wherry.Consumer, d time.Duration) {
			ctx, stop := context.WithTimeout(t.Context(), d)
			defer stop()
			_ = wherry.Run(ctx, c)
		}
		well := true
		fine, publish := consumer("fine", wherry.Ack)
		other, publishOther := consumer("other", func() wherry.Outcome {
			if well {
				return wherry.Ack()
			}
			return wherry.Retry(errors.New("down"))
		})
		go run(other, 5*time.Second)
		publishOther()
		time.Sleep(time.Second)
		publish()
		run(fine, time.Second)
		well = false
		publishOther()
		time.Sleep(time.Second)
		publish()
		run(fine, time.Minute)
		assert.Equal(t, handled, []time.Duration{0, time.Second, 2 * time.Second, 12 * time.Second})
	})
}

// One that was met again since it was found stopped is not forgotten.
func TestBreakerKeepsWhoCameBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := mem.New(mem.Config{})
		defer broker.Close(context.Background())
		b := NewBreaker(BreakerConfig{})
		back := wherry.Consume(wherry.Queue(broker, wherry.NewTopic("t", codec.Text{})),
			func(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() })
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		assert.NoError(t, wherry.Run(ctx, back))
		b.known[back], b.met = 1, 1
		found := maps.Clone(b.known)
		b.know(back)
		b.forgetStopped(found)
		_, known := b.known[back]
		assert.True(t, known, "it is forgotten, and its lanes do not ask again")
		b.forgetStopped(maps.Clone(b.known))
		assert.Equal(t, len(b.known), 0)
	})
}
