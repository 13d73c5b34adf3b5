package wherry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// What has no meaning for a loop is refused before anything is opened, and named. What a loop does anyway is not.
func TestPullRefusesWhatHasNoMeaningForALoop(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]wherry.ConsumeOption{
		"HandlerTimeout": wherry.HandlerTimeout(time.Second),
		"DrainTime":      wherry.DrainTime(time.Second),
		"GraceTime":      wherry.GraceTime(0),
		"concurrency":    wherry.Concurrency(2),
		"workers":        wherry.Workers(2),
		"middleware":     wherry.Use(func(next wherry.Next) wherry.Next { return next }),
	} {
		b := newMem(t)
		var errs []error
		for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders), o) {
			assert.True(t, m == nil, name+": no message beside an error")
			errs = append(errs, err)
		}
		assert.Equal(t, len(errs), 1)
		assert.True(t, strings.Contains(errs[0].Error(), name), errs[0].Error())
		_, err := b.Depth(t.Context(), shape{topic: orders}.driverSource())
		assert.ErrorIs(t, err, wherry.ErrNoTopic)
	}
	b := newMem(t)
	publish(t, b, orders, order{ID: 1})
	for _, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders), wherry.NoHandlerTimeout(), wherry.Concurrency(1)) {
		assert.NoError(t, err)
		break
	}
}

// A loop tells what a consumer with a handler tells: that it began and ended, and what became of each message.
func TestPullTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
		var ev events
		seen := 0
		for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders), wherry.OnEvent(ev.record)) {
			assert.NoError(t, err)
			time.Sleep(time.Second)
			switch seen++; seen {
			case 1:
				m.Settle(wherry.Ack())
			case 2:
				m.Settle(wherry.Reject(errors.New("no")))
			}
			if seen == 3 {
				break
			}
		}
		assert.Equal(t, len(eventsOf[*wherry.Started](&ev)), 1)
		handled := eventsOf[*wherry.Handled](&ev)
		assert.Equal(t, len(handled), 2)
		for i, want := range []wherry.OutcomeKind{wherry.KindAck, wherry.KindReject} {
			assert.Equal(t, handled[i].Outcome.Kind(), want)
			assert.Equal(t, handled[i].Took, time.Second)
			assert.Equal(t, handled[i].Consumer, "orders")
		}
		assert.Equal(t, len(eventsOf[*wherry.DeadLettered](&ev)), 1)
		released := eventsOf[*wherry.Released](&ev)
		assert.Equal(t, len(released), 1)
		assert.Equal(t, released[0].Why, "not settled by the loop")
		stopped := eventsOf[*wherry.Stopped](&ev)
		assert.Equal(t, len(stopped), 1)
		assert.NoError(t, stopped[0].Err)
	})
}

// What ends a loop is in its last event too.
func TestPullTellsWhatEndedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		publish(t, b, orders, order{ID: 1})
		var ev events
		var last error
		for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders), wherry.OnEvent(ev.record)) {
			if last = err; err == nil {
				m.Settle(wherry.Ack())
				assert.NoError(t, b.Close(t.Context()))
			}
		}
		assert.ErrorIs(t, last, wherry.ErrClosed)
		stopped := eventsOf[*wherry.Stopped](&ev)
		assert.Equal(t, len(stopped), 1)
		assert.Equal(t, stopped[0].Err, last)
	})
}

// A loop that stays at a message is stalled like any consumer, and healthy again when it asks for the next.
func TestPullIsWatched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1}, order{ID: 2})
		var ev events
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		opts := []wherry.ConsumeOption{wherry.OnEvent(ev.record), wherry.StallAfter(time.Minute)}
		for m, err := range wherry.Pull(ctx, wherry.Queue(b, orders), opts...) {
			assert.NoError(t, err)
			m.Settle(wherry.Ack())
			if m.Value.ID == 2 {
				time.Sleep(10 * time.Second)
				assert.True(t, m.Consumer().Health().Ready, "ready again")
				assert.Equal(t, len(eventsOf[*wherry.Recovered](&ev)), 1)
				break
			}
			assert.Equal(t, m.Consumer().Health().Workers, 1)
			time.Sleep(59 * time.Second)
			assert.True(t, m.Consumer().Health().Ready, "ready within its stall time")
			time.Sleep(5 * time.Second)
			h := m.Consumer().Health()
			assert.Equal(t, h.State, wherry.StateStalled)
			assert.True(t, strings.HasPrefix(h.Cause, "loop blocked for 1m"), h.Cause)
			assert.Equal(t, h.Backlog, 0)
		}
		assert.Equal(t, len(eventsOf[*wherry.Overran](&ev)), 0)
	})
}

// A quiet loop whose broker was away and is there again says so, without a message that would prove it.
func TestPullNoticesTheEndOfAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1})
		var ev events
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		var loop *wherry.Consumer
		for m, err := range wherry.Pull(ctx, wherry.Queue(b, orders), wherry.OnEvent(ev.record)) {
			assert.NoError(t, err)
			m.Settle(wherry.Ack())
			loop = m.Consumer()
			time.AfterFunc(time.Second, func() { b.Faults().Disconnect(mem.SoftCut) })
			time.AfterFunc(10*time.Second, func() { assert.Equal(t, loop.Health().State, wherry.StateAway) })
			time.AfterFunc(time.Minute, b.Faults().Reconnect)
			time.AfterFunc(2*time.Minute, func() {
				h := loop.Health()
				assert.Equal(t, h.State, wherry.StateRunning)
				stop()
			})
		}
		assert.Equal(t, len(eventsOf[*wherry.BrokerAway](&ev)), 1)
		assert.Equal(t, len(eventsOf[*wherry.BrokerBack](&ev)), 1)
	})
}
