package wherry_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// stalled runs a consumer until it is not ready, which must be within its stall time and two looks.
func stalled(t *testing.T, c *wherry.Consumer, within time.Duration) wherry.Health {
	t.Helper()
	began := time.Now()
	for c.Health().Ready {
		assert.True(t, time.Since(began) <= within, "not ready in time: "+c.Health().Cause)
		time.Sleep(100 * time.Millisecond)
		if time.Since(began) > within {
			break
		}
	}
	return c.Health()
}

// A consumer without progress says why, whatever the cause.
func TestStallNamesItsCause(t *testing.T) {
	t.Parallel()
	ack := func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
	for name, c := range map[string]struct {
		config  mem.Config
		handler func(b *mem.Broker, unblock <-chan struct{}) wherry.Handler[order]
		fault   func(b *mem.Broker)
		want    string
	}{
		"handler": {
			handler: func(_ *mem.Broker, unblock <-chan struct{}) wherry.Handler[order] {
				return func(context.Context, *wherry.Message[order]) wherry.Outcome {
					<-unblock
					return wherry.Ack()
				}
			},
			want: "handler blocked for",
		},
		"its own full queue": {
			config: mem.Config{MaxMessages: 1},
			handler: func(b *mem.Broker, unblock <-chan struct{}) wherry.Handler[order] {
				p, _ := wherry.NewPublisher(context.Background(), b, orders)
				return func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					ctx, stop := context.WithCancel(context.Background())
					defer stop()
					go func() { <-unblock; stop() }()
					for range 300 { // more than the worker takes and the queue holds
						if p.Publish(ctx, &m.Value) != nil {
							break
						}
					}
					return wherry.Ack()
				}
			},
			want: "publishing: the queue that it publishes to is full",
		},
		"paused queue": {
			fault: func(b *mem.Broker) { b.Faults().PauseQueue("orders") },
			want:  "paused",
		},
		"silent broker": {
			fault: func(b *mem.Broker) { b.Faults().Stall("orders") },
			want:  "work waits at the broker and none is delivered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(c.config)
				defer b.Close(context.Background())
				unblock := make(chan struct{})
				h := wherry.Handler[order](ack)
				if c.handler != nil {
					h = c.handler(b, unblock)
				}
				var ev events
				consumer := wherry.Consume(wherry.Queue(b, orders), h, wherry.NoHandlerTimeout(),
					wherry.StallAfter(10*time.Second), wherry.DrainTime(0), wherry.OnEvent(ev.record))
				r := start(t, consumer)
				synctest.Wait()
				if c.fault != nil {
					c.fault(b)
				}
				publish(t, b, orders, order{ID: 1})
				health := stalled(t, consumer, 13*time.Second)
				assert.Equal(t, health.State, wherry.StateStalled)
				assert.True(t, strings.Contains(health.Cause, c.want), health.Cause)
				assert.Equal(t, len(eventsOf[*wherry.Stalled](&ev)), 1)
				b.Faults().Clear()
				close(unblock)
				time.Sleep(5 * time.Second)
				assert.Equal(t, len(eventsOf[*wherry.Recovered](&ev)), 1)
				_ = r.end() // one of them leaves messages behind
			})
		})
	}
}
