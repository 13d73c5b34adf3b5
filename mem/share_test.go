package mem_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// wanted reports whether r is asked to share within a second.
func wanted(t *testing.T, r driver.Receiver) bool {
	t.Helper()
	select {
	case <-r.(driver.Sharer).Wanted():
		return true
	case <-time.After(time.Second):
		return false
	}
}

func TestHolderIsAskedWhileAnotherIsIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		send(t, s, "0", "1", "2", "3")
		ds := take(t, r, 4)
		if wanted(t, r) {
			t.Error("asked though nobody is idle")
		}
		idlers, results := idle(t, b, 1, 4, queueTopic("orders"))
		begun := time.Now()
		if !wanted(t, r) {
			t.Fatal("not asked")
		}
		want(t, "after", time.Since(begun), time.Millisecond)
		if wanted(t, r) {
			t.Error("asked twice for one idle receiver")
		}
		settle(t, r, driver.Release, ds[2:]...)
		got := <-results[0]
		want(t, "shared", bodies(got), "[2 3]")
		settle(t, idlers[0], driver.Done, got...)
	})
}

func TestOnlyAnIdleMillisecondCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		topic := queueTopic("orders")
		send(t, s, "0", "1")
		take(t, r, 2)
		begun := time.Now()
		idlers, results := idle(t, b, 1, 4, topic)
		time.Sleep(600 * time.Microsecond)
		send(t, s, "2")
		settle(t, idlers[0], driver.Done, <-results[0]...)
		idle(t, b, 1, 4, topic)
		if !wanted(t, r) {
			t.Fatal("not asked")
		}
		want(t, "after", time.Since(begun), 2*time.Millisecond)
	})
}

func TestNobodyIsAskedForItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		send(t, s, "x")
		take(t, r, 1)
		others, _ := idle(t, b, 1, 1, queueTopic("orders"))
		if err := others[0].Close(t.Context()); err != nil {
			t.Error(err)
		}
		go func() { _, _ = r.Receive(t.Context(), make([]*driver.Delivery, 0, 1)) }()
		synctest.Wait()
		if wanted(t, r) {
			t.Error("asked though the only idle receiver is the holder")
		}
	})
}

func TestNothingRunsWhileAllAreIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		send(t, s, "x")
		ds := take(t, r, 1)
		idle(t, b, 3, 4, queueTopic("orders"))
		settle(t, r, driver.Done, ds...)
		// The bubble's clock jumps over the hour only if no timer fires again and again; a periodic one would be seen
		// on the channel, which holds one value.
		time.Sleep(time.Hour)
		wanted(t, r) // for the three that became idle
		if wanted(t, r) {
			t.Error("still asked")
		}
	})
}
