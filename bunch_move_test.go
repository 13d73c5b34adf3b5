package wherry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// What moves out of the middle of a bunch counts once, and so does what was acknowledged before it.
func TestMoveOutOfABunchCountsOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		begin := make(chan struct{})
		c := wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			switch m.Value.Text {
			case "first":
				<-begin
			case "odd":
				return wherry.Reject(nil)
			}
			return wherry.Ack()
		})
		r := start(t, c)
		p, err := wherry.NewPublisher(t.Context(), b, orders)
		assert.NoError(t, err)
		sent := 0
		send := func(text string) {
			sent++
			assert.NoError(t, p.Publish(t.Context(), &order{ID: sent, Text: text}))
		}
		for i := range quickMessages { // which prove that handlers are quick
			send("quick")
			if i%100 == 0 {
				synctest.Wait()
			}
		}
		synctest.Wait()
		send("first")
		synctest.Wait()
		for range 10 {
			send("even")
			send("odd")
		}
		close(begin)
		time.Sleep(time.Second)
		assert.Equal(t, c.Health().Handled, uint64(sent))
		assert.Equal(t, depthOf(t, b, "orders.dlq"), 10)
		r.mustEnd()
	})
}

// A handler that began after the consumer's last reading of the clock did not take a negative time.
func TestHandledTookIsNeverNegative(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen events
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == 1 {
				time.Sleep(600 * time.Microsecond)
			}
			return wherry.Ack()
		}, wherry.OnEvent(seen.record)))
		time.Sleep(time.Second)
		r.mustEnd()
		handled := eventsOf[*wherry.Handled](&seen)
		assert.Equal(t, len(handled), 3)
		for _, h := range handled {
			assert.True(t, h.Took >= 0, h.ID+" took "+h.Took.String())
		}
	})
}
