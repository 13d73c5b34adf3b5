package wherry

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A settleCount is a receiver that counts what it was answered.
type settleCount struct {
	driver.Receiver
	settled atomic.Int32
}

func (r *settleCount) Settle(_ context.Context, batch []driver.Settlement) error {
	r.settled.Add(int32(len(batch)))
	return nil
}

// What is decided reaches the broker within the linger, though the lane that decided it is somewhere between letting others run
// and coming back.
func TestYieldingLaneHoldsBackNoSettlement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recv := &settleCount{}
		w := &worker{
			r: &running{c: &Consumer{}}, recv: recv, info: driver.Info{Volatile: true}, linger: time.Millisecond,
			settleBatch: 8, settleBase: t.Context(),
		}
		w.r.clock.exact = true
		w.mu.Lock()
		w.out = w.freshLocked()
		w.receiving, w.unsettled = true, 1 // another lane is at it
		w.settleLocked(driver.Settlement{Delivery: &driver.Delivery{}, Verdict: driver.Done})
		w.yieldLocked()
		w.mu.Unlock()
		if n := recv.settled.Load(); n != 0 {
			t.Errorf("%d were settled before the linger was over", n)
		}
		time.Sleep(w.linger)
		synctest.Wait()
		if n := recv.settled.Load(); n != 1 {
			t.Errorf("%d were settled after the linger, want 1", n)
		}
	})
}
