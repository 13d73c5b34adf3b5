package wherry_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// failsOnce is a consumer whose every message fails once, and comes again after 200 ms.
func failsOnce(b testBroker, seen *calls, opts ...wherry.ConsumeOption) *wherry.Consumer {
	opts = append(opts, wherry.RetryWith(wherry.RetryPolicy{Delays: []time.Duration{200 * time.Millisecond}, Jitter: wherry.NoJitter}))
	return wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
		seen.add("%d: %d", m.Value.ID, m.Attempt())
		if m.Attempt() == 1 {
			return wherry.Retry(errors.New("once"))
		}
		return wherry.Ack()
	}, opts...)
}

// A refused settlement of what waited in a hold topic is tried again: on a log it would hold back the commit of all that waits
// behind it, and so the room for it.
func TestRefusedSettlementOfAHoldIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLogs(t, mem.LogConfig{Partitions: 1})
		var seen calls
		var ev events
		r := start(t, failsOnce(b, &seen, wherry.OnEvent(ev.record), wherry.Concurrency(8)))
		synctest.Wait()
		b.Faults().FailCommit("orders.hold.200ms", 5)
		publish(t, b, orders, ordersTo(100)...)
		time.Sleep(time.Minute)
		assert.Equal(t, len(seen.all()), 200)
		assert.Equal(t, b.left(t, "orders.hold.200ms"), 0)
		assert.Equal(t, b.Positions("orders.hold.200ms", "")[0].Commit, uint64(100))
		assert.Equal(t, len(eventsOf[*wherry.SettleFailed](&ev)), 5)
		assert.Equal(t, len(eventsOf[*wherry.MoveBlocked](&ev)), 0) // each copy was sent
		r.mustEnd()
	})
}

// Until it is answered for, what waited in a hold topic keeps its lease.
func TestRefusedSettlementOfAHoldKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Lease: time.Second, Weak: mem.Weak{NoHold: true}})
		defer b.Close(context.Background())
		var seen calls
		r := start(t, failsOnce(b, &seen))
		synctest.Wait()
		b.Faults().FailSettle("orders.hold.200ms", 8) // for some five seconds
		publish(t, b, orders, order{ID: 1})
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"1: 1", "1: 2"})
		assert.Equal(t, depthOf(t, b, "orders.hold.200ms"), 0)
	})
}

// At the end there is the grace for it.
func TestRefusedSettlementOfAHoldEndsWithTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLogs(t, mem.LogConfig{Partitions: 1})
		var seen calls
		r := start(t, failsOnce(b, &seen))
		synctest.Wait()
		b.Faults().FailCommit("orders.hold.200ms", -1)
		publish(t, b, orders, order{ID: 1})
		time.Sleep(10 * time.Second)
		began := time.Now()
		r.mustEnd()
		took := time.Since(began)
		assert.True(t, took <= time.Second, "the end is held up by "+took.String())
	})
}

// What a hold topic took back while its copy was refused is sent by whoever has it now, and not here as well.
func TestHoldIsNotSentOnWhenItIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Weak: mem.Weak{NoHold: true}})
		p, err := wherry.NewPublisher(t.Context(), b, orders)
		assert.NoError(t, err)
		assert.NoError(t, p.Publish(t.Context(), &order{ID: 1}, wherry.WithDelay(200*time.Millisecond)))
		b.Faults().FailSend("orders", 1, nil)
		var handled atomic.Int32
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			handled.Add(1)
			return wherry.Ack()
		}, wherry.OnEvent(func(e wherry.Event) {
			if _, blocked := e.(*wherry.MoveBlocked); blocked {
				b.Faults().Revoke("orders.hold.200ms", 0)
			}
		})))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, handled.Load(), int32(1))
	})
}
