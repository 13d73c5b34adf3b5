package mem_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func TestStalledAndPausedQueuesGiveNothing(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		on, off func(*mem.Faults)
		reason  string
	}{
		"stalled": {func(f *mem.Faults) { f.Stall("orders") }, func(f *mem.Faults) { f.Unstall("orders") }, ""},
		"paused":  {func(f *mem.Faults) { f.PauseQueue("orders") }, func(f *mem.Faults) { f.ResumeQueue("orders") }, "paused"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, s, r := one(t, mem.Config{})
				c.on(b.Faults())
				idle(t, b, 2, 1, queueTopic("elsewhere"))
				send(t, s, "x")
				_, err := r.Receive(brief(t), make([]*driver.Delivery, 0, 1))
				wantErr(t, "receive", err, context.DeadlineExceeded)
				want(t, "waiting", r.(driver.Waiter).Waiting(), c.reason)
				got := make(chan []*driver.Delivery)
				go func() { got <- take(t, r, 1) }()
				synctest.Wait()
				c.off(b.Faults())
				want(t, "received", bodies(<-got), "[x]")
				want(t, "waiting", r.(driver.Waiter).Waiting(), "")
			})
		})
	}
}

func TestDroppedDeliveriesAreLostAndCounted(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	b.Faults().Drop("orders", 2)
	send(t, s, "0", "1", "2", "3")
	want(t, "received", bodies(take(t, r, 9)), "[2 3]")
	want(t, "dropped", b.Faults().Dropped(), 2)
	want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 2")
}

func TestDroppedDeliveriesMakeRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{MaxMessages: 1})
		b.Faults().Drop("orders", 1)
		send(t, s, "lost")
		go send(t, s, "kept")
		want(t, "received", bodies(take(t, r, 1)), "[kept]")
	})
}

func TestDuplicatedDeliveries(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	b.Faults().Duplicate("orders", 2)
	batch := records("0", "1", "2")
	batch[0].ID.Text, batch[1].ID.Text = "a", "b"
	if err := s.Send(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	first := take(t, r, 3)
	want(t, "first", bodies(first), "[0 1 2]")
	again := take(t, r, 9)
	want(t, "again", bodies(again), "[0 1]")
	want(t, "ids", fmt.Sprint(again[0].ID, again[1].ID), "a b")
	settle(t, r, driver.Done, append(first, again...)...)
	want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 0")
}

func TestReorderedDeliveries(t *testing.T) {
	t.Parallel()
	order := func(seed uint64) []string {
		b, s, r := one(t, mem.Config{})
		b.Faults().Reorder("orders", seed)
		for i := range 20 {
			send(t, s, fmt.Sprint(i))
		}
		return bodies(take(t, r, 20))
	}
	plain, one, same, other := order(0), order(1), order(1), order(2)
	want(t, "same seed", same, one)
	for _, o := range [][]string{one, other} {
		if slices.Equal(o, plain) {
			t.Error("the order is the publish order")
		}
		slices.Sort(o)
	}
	slices.Sort(plain)
	want(t, "nothing is missing", one, plain)
	want(t, "nothing is missing", other, plain)
}

func TestFailedSettlementsMayBeTriedAgain(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	send(t, s, "0", "1", "2")
	ds := take(t, r, 3)
	b.Faults().FailSettle("orders", 1)
	batch := make([]driver.Settlement, 3)
	for i, d := range ds {
		batch[i] = driver.Settlement{Delivery: d, Verdict: driver.Done}
	}
	err := r.Settle(t.Context(), batch)
	wantErr(t, "failed", driver.EntryError(err, 0))
	for i := 1; i < 3; i++ {
		if err := driver.EntryError(err, i); err != nil {
			t.Errorf("neighbour %d: %v", i, err)
		}
	}
	want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 1")
	settle(t, r, driver.Done, ds[0])
}

func TestSlowSettlements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		send(t, s, "0", "1")
		ds := take(t, r, 2)
		b.Faults().SlowSettle("", 2*time.Second)
		err := r.Settle(brief(t), []driver.Settlement{{Delivery: ds[0]}})
		wantErr(t, "cancelled", err, context.DeadlineExceeded)
		begun := time.Now()
		settle(t, r, driver.Done, ds[0])
		want(t, "took", time.Since(begun), 2*time.Second)
		late := make(chan error)
		go func() { late <- r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[1]}}) }()
		synctest.Wait()
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantErr(t, "closed meanwhile", <-late, driver.ErrRevoked)
	})
}

func TestWipedTopologyIsDeclaredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{MaxMessages: 3})
		topic := queueTopic("orders")
		send(t, s, "0", "1", "2")
		old := take(t, r, 1)
		strict, err := b.OpenQueue(t.Context(), driver.Source{Topics: []driver.Topic{topic}, Topology: driver.Verify})
		if err != nil {
			t.Fatal(err)
		}
		strictSender := sender(t, b, driver.Target{Topic: topic, Topology: driver.Verify})
		send(t, s, "3")
		full := make(chan error)
		go func() { full <- s.Send(t.Context(), records("waits")) }()
		synctest.Wait()
		b.Faults().WipeTopology()
		if err := <-full; err != nil { // it declared the topic again
			t.Errorf("send: %v", err)
		}
		b.Faults().WipeTopology()
		wantErr(t, "strict send", strictSender.Send(t.Context(), records("x")), driver.ErrNoTopic, driver.ErrNotSent)
		for range 2 {
			_, err = strict.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
			wantErr(t, "strict receive", err)
		}
		wantErr(t, "strict receive", err, driver.ErrNoTopic)
		want(t, "waiting", strict.(driver.Waiter).Waiting(), "no topic")
		_, err = r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
		wantErr(t, "receive", err, driver.ErrDisconnected)
		rev := <-r.(driver.Revoker).Revocations()
		want(t, "tenure", rev.Tenure, old[0].Tenure)
		want(t, "lost", rev.Lost, true)
		got := make(chan []*driver.Delivery)
		go func() { got <- take(t, r, 9) }()
		synctest.Wait()
		send(t, s, "new")
		want(t, "received", bodies(<-got), "[new]")
		err = r.Settle(t.Context(), []driver.Settlement{{Delivery: old[0], Verdict: driver.Done}})
		wantErr(t, "late settlement", err, driver.ErrRevoked)
		// The topic is there again, so the strict ones work too.
		send(t, strictSender, "strict")
		want(t, "received", bodies(take(t, strict, 9)), "[strict]")
	})
}
