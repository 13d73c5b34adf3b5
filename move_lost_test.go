package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A copy that was refused is not made any more once its original is another's, which makes one of its own: each time that a broker
// goes away for a moment there would be one more of each.
func TestRefusedCopyOfALostMessageIsDropped(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(b *mem.Broker){
		"lost":  func(b *mem.Broker) { b.Faults().Revoke("orders", 0) },
		"ended": func(b *mem.Broker) { b.Faults().Revoke("orders", time.Second) },
		"ended, then lost": func(b *mem.Broker) {
			b.Faults().Revoke("orders", time.Hour)
			time.Sleep(time.Second)
			b.Faults().Disconnect(mem.HardCut)
			time.Sleep(time.Second)
			b.Faults().Reconnect()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				publish(t, b, orders, ordersTo(3)...)
				var seen calls
				c := failsOnce(b, &seen, wherry.ExactTime())
				b.Faults().FailSend("orders", -1, nil)
				r := start(t, c)
				for range 3 {
					time.Sleep(10 * time.Second)
					lose(b)
				}
				time.Sleep(10 * time.Second)
				b.Faults().Clear()
				time.Sleep(5 * time.Minute)
				r.mustEnd()
				second := 0
				for _, call := range seen.all() {
					if call[len(call)-1] == '2' {
						second++
					}
				}
				assert.Equal(t, len(seen.all())-second, 12) // at first, and after each of three losses
				assert.Equal(t, second, 3)
				assert.Equal(t, depthOf(t, b, "orders"), 0)
			})
		})
	}
}

// So it is when the receiver ends.
func TestRefusedCopyOfAnEndedReceiverIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newHoldLogs(t)
		publish(t, b, orders, ordersTo(3)...)
		var seen calls
		r := start(t, failsOnce(b, &seen))
		b.Faults().CutBefore("orders.hold.200ms", -1)
		time.Sleep(10 * time.Second) // and in the middle of a pause
		b.Faults().CutBefore("orders.hold.200ms", 0)
		b.crash(t, "orders")
		time.Sleep(5 * time.Minute)
		r.mustEnd()
		assert.Equal(t, len(seen.all()), 9) // each at first, again, and as a copy
	})
}

// A key whose message may be among the dead letters stays set aside, though the message is lost: those after it are not handled.
func TestSequenceKeepsAsideWhatMayBeDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.result = func(step, int) wherry.Outcome { return wherry.Reject(errStep) }
		b := newMem(t)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.FailAll)), s.handle))
		b.Faults().CutAfter("steps.dlq", 1)
		publish(t, b, steps, stepsOf(3, "a")...)
		synctest.Wait()
		b.Faults().Revoke("steps", 0)
		time.Sleep(time.Minute)
		run.mustEnd()
		assert.Equal(t, s.of(s.calls, "a"), "0")
	})
}

// A tenure that is ending and then lost is over: its consumer goes on, and ends cleanly.
func TestTenureThatIsLostWhileItEnds(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d lanes", concurrency), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				publish(t, b, orders, ordersTo(20)...)
				var seen calls
				var cut calls
				r := start(t, wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
					select {
					case <-time.After(10 * time.Second):
						seen.add("%d", m.Value.ID)
						return wherry.Ack()
					case <-ctx.Done():
						if errors.Is(context.Cause(ctx), wherry.ErrRevoked) {
							cut.add("%d", m.Value.ID)
						}
						return wherry.Retry(ctx.Err())
					}
				}, wherry.Concurrency(concurrency)))
				time.Sleep(time.Second)
				b.Faults().Revoke("orders", time.Hour)
				time.Sleep(time.Second)
				b.Faults().Disconnect(mem.HardCut)
				b.Faults().Reconnect()
				time.Sleep(10 * time.Minute)
				assert.Equal(t, len(cut.all()), concurrency)
				assert.Equal(t, len(seen.all()), 20)
				r.mustEnd()
			})
		})
	}
}
