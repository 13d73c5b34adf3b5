package wherry_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// A panic in an event function costs the event: no attempt of the message, and not the process. Each function's first is told.
func TestPanicInAnEventFunction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		panics func(e wherry.Event) bool
		o      wherry.Outcome
		dead   int
		told   int
	}{
		"handled": {panics: is[*wherry.Handled], o: wherry.Ack(), told: 1},
		"dead":    {panics: is[*wherry.DeadLettered], o: wherry.Reject(errStep), dead: 3, told: 1},
		"retried": {panics: is[*wherry.Retried], o: wherry.Retry(errStep), dead: 3, told: 1},
		"started": {panics: is[*wherry.Started], o: wherry.Ack(), told: 1},
		"all":     {panics: func(wherry.Event) bool { return true }, o: wherry.Ack(), told: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				var calls atomic.Int32
				var ev events
				breaks := func(e wherry.Event) {
					if c.panics(e) {
						panic("an event function")
					}
				}
				opts := []wherry.ConsumeOption{quickly, wherry.OnEvent(breaks), wherry.OnEvent(ev.record)}
				if c.told > 1 {
					opts = append(opts, wherry.OnEvent(breaks))
				}
				consumer := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
					calls.Add(1)
					return c.o
				}, opts...)
				run := start(t, consumer)
				publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
				time.Sleep(time.Minute)
				told := eventsOf[*wherry.Panicked](&ev)
				assert.Equal(t, len(told), c.told)
				for _, e := range told {
					assert.Equal(t, e.ID, "")
					assert.Equal(t, e.Value, any("an event function"))
				}
				h := consumer.Health()
				assert.True(t, h.Ready, h.Cause)
				assert.Equal(t, h.Cause, "an event function panicked")
				run.mustEnd()
				want := 3
				if c.o.Kind() == wherry.KindRetry {
					want *= 2
				}
				assert.Equal(t, int(calls.Load()), want)
				assert.Equal(t, depthOf(t, b, "orders"), 0)
				assert.Equal(t, depthOf(t, b, "orders.dlq"), c.dead)
			})
		})
	}
}

func is[E wherry.Event](e wherry.Event) bool {
	_, ok := e.(E)
	return ok
}
