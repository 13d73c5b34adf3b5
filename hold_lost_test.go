package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// holdLogs is a log that has the receivers of its topics at hand, to crash them, and may refuse to open others.
type holdLogs struct {
	logs

	refuse *atomic.Bool
	mu     *sync.Mutex
	of     map[string]driver.Receiver
}

func newHoldLogs(tb testing.TB) holdLogs {
	tb.Helper()
	return holdLogs{
		logs: newLogs(tb, mem.LogConfig{Partitions: 1}), refuse: new(atomic.Bool), mu: new(sync.Mutex),
		of: make(map[string]driver.Receiver),
	}
}

var errNoHold = errors.New("no receiver today")

func (b holdLogs) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if b.refuse.Load() {
		return nil, errNoHold
	}
	r, err := b.LogBroker.OpenQueue(ctx, s)
	b.mu.Lock()
	b.of[s.Topics[0].Name] = r
	b.mu.Unlock()
	return b.kept(r, err)
}

// crash kills the receiver of a topic that was opened last.
func (b holdLogs) crash(tb testing.TB, topic string) {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.Faults().Crash(b.of[topic]); err != nil {
		tb.Error(err)
	}
}

// A receiver of holds that ends for good is replaced, also while it has something in hand, and nobody loses what waits.
func TestEndedHoldReceiverIsReplaced(t *testing.T) {
	t.Parallel()
	for _, busy := range []bool{false, true} {
		t.Run(fmt.Sprintf("busy %v", busy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newHoldLogs(t)
				var seen calls
				var ev events
				began := time.Now()
				r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					seen.add("%d: attempt %d after %v", m.Value.ID, m.Attempt(), time.Since(began).Round(time.Second))
					if m.Attempt() == 1 {
						return wherry.RetryAfter(30*time.Second, errors.New("once"))
					}
					return wherry.Ack()
				}, wherry.OnEvent(ev.record)))
				synctest.Wait()
				if busy {
					publish(t, b, orders, order{ID: 1})
					time.Sleep(time.Second)
				}
				b.crash(t, "orders.hold.30s")
				time.Sleep(time.Second)
				publish(t, b, orders, order{ID: 2})
				time.Sleep(time.Minute)
				r.mustEnd()
				lost, back := eventsOf[*wherry.HoldLost](&ev), eventsOf[*wherry.HoldBack](&ev)
				assert.Equal(t, len(lost), 1)
				assert.Equal(t, lost[0].Hold, "orders.hold.30s")
				assert.ErrorIs(t, lost[0].Err, wherry.ErrClosed)
				assert.Equal(t, len(back), 1)
				assert.Equal(t, b.left(t, "orders.hold.30s"), 0)
				assert.Equal(t, len(eventsOf[*wherry.SettleFailed](&ev)), 0)
				want := []string{"2: attempt 1 after 1s", "2: attempt 2 after 31s"}
				if busy {
					want = []string{
						"1: attempt 1 after 0s", "2: attempt 1 after 2s", "1: attempt 2 after 30s", "2: attempt 2 after 32s",
					}
				}
				assert.Equal(t, seen.all(), want)
			})
		})
	}
}

// While none can be opened health says so, and pauses grow.
func TestHoldThatCannotBeReceivedFromIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newHoldLogs(t)
		var seen calls
		var ev events
		c := failsOnce(b, &seen, wherry.OnEvent(ev.record))
		r := start(t, c)
		synctest.Wait()
		b.refuse.Store(true)
		b.crash(t, "orders.hold.200ms")
		publish(t, b, orders, order{ID: 1})
		time.Sleep(time.Minute)
		h := c.Health()
		assert.Equal(t, h.Cause, "cannot receive from orders.hold.200ms")
		assert.True(t, h.Detail != "", "the error is with it")
		lost := eventsOf[*wherry.HoldLost](&ev)
		assert.True(t, len(lost) >= 8 && len(lost) <= 11, fmt.Sprintf("%d tries in a minute", len(lost)))
		assert.ErrorIs(t, lost[len(lost)-1].Err, errNoHold)
		assert.Equal(t, seen.all(), []string{"1: 1"})
		b.refuse.Store(false)
		time.Sleep(time.Minute)
		assert.Equal(t, c.Health().Cause, "")
		assert.Equal(t, seen.all(), []string{"1: 1", "1: 2"})
		assert.Equal(t, len(eventsOf[*wherry.HoldBack](&ev)), 1)
		r.mustEnd()
	})
}

// A broker that is closed ends the run, and is no hold topic that was lost.
func TestClosedBrokerIsNoLostHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newHoldLogs(t)
		var seen calls
		var ev events
		r := start(t, failsOnce(b, &seen, wherry.OnEvent(ev.record)))
		synctest.Wait()
		assert.NoError(t, b.Close(context.Background()))
		<-r.done
		assert.ErrorIs(t, r.err, wherry.ErrClosed)
		assert.Equal(t, len(eventsOf[*wherry.HoldLost](&ev)), 0)
	})
}
