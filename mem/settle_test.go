package mem_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// one is a broker with a queue, a sender and a receiver.
func one(tb testing.TB, c mem.Config) (*mem.Broker, driver.Sender, driver.Receiver) {
	tb.Helper()
	b := open(tb, c)
	return b, sender(tb, b, driver.Target{Topic: queueTopic("orders")}), receiver(tb, b, "", queueTopic("orders"))
}

func TestReleasedComesBackInPublishOrder(t *testing.T) {
	t.Parallel()
	_, s, r := one(t, mem.Config{MaxMessages: 6})
	send(t, s, "0", "1", "2", "3", "4", "5")
	ds := take(t, r, 4)
	settle(t, r, driver.Release, ds[2])
	settle(t, r, driver.Release, ds[3], ds[0], ds[1])
	want(t, "order", bodies(take(t, r, 9)), "[0 1 2 3 4 5]")
}

func TestReleaseNeverWaitsForRoom(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{MaxMessages: 2})
	send(t, s, "0", "1")
	ds := take(t, r, 2)
	send(t, s, "2", "3")
	settle(t, r, driver.Release, ds...)
	want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 4 held 0 in flight 0")
	want(t, "order", bodies(take(t, r, 9)), "[0 1 2 3]")
}

func TestDeliveredCountsWhatWasNotReleased(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	send(t, s, "x")
	for range 3 {
		ds := take(t, r, 1)
		want(t, "delivered, released before", ds[0].Delivered, 1)
		settle(t, r, driver.Release, ds...)
	}
	for n := range 3 {
		next := receiver(t, b, "", queueTopic("orders"))
		want(t, "delivered, lost before", take(t, next, 1)[0].Delivered, n+1)
		if err := next.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if !r.Info().HasCount {
		t.Error("HasCount is false")
	}
}

func TestReleaseWithDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		topic := queueTopic("orders")
		send(t, s, "0", "1", "2")
		ds := take(t, r, 2)
		batch := []driver.Settlement{{Delivery: ds[0], Delay: 2 * time.Second}, {Delivery: ds[1], Delay: time.Second}}
		if err := r.Settle(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		want(t, "depth", depth(t, b, "", topic), "ready 1 held 2 in flight 0")
		begun := time.Now()
		want(t, "at once", bodies(take(t, r, 9)), "[2]")
		want(t, "first", bodies(take(t, r, 9)), "[1]")
		want(t, "after", time.Since(begun), time.Second)
		want(t, "second", bodies(take(t, r, 9)), "[0]")
		want(t, "after", time.Since(begun), 2*time.Second)
		if r.Info().MaxDelay < time.Hour {
			t.Errorf("MaxDelay is %v", r.Info().MaxDelay)
		}
	})
}

func TestSettleTellsStrangersApart(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	topic := queueTopic("orders")
	other := receiver(t, b, "", topic)
	send(t, s, "0", "1", "2", "3")
	mine, theirs := take(t, r, 3), take(t, other, 1)
	kept := *mine[0] // what somebody may have copied
	settle(t, r, driver.Done, mine[0])
	err := r.Settle(t.Context(), []driver.Settlement{
		{Delivery: mine[1], Verdict: driver.Done},
		{Delivery: mine[1], Verdict: driver.Done},
		{Delivery: theirs[0], Verdict: driver.Done},
		{Delivery: &driver.Delivery{}, Verdict: driver.Done},
		{Verdict: driver.Done},
		{Delivery: &kept, Verdict: driver.Done},
		{Delivery: mine[2], Verdict: driver.Done},
	})
	for i, bad := range []bool{false, true, true, true, true, true, false} {
		switch entry := driver.EntryError(err, i); {
		case bad:
			wantErr(t, fmt.Sprint("entry ", i), entry, driver.ErrRevoked)
		case entry != nil:
			t.Errorf("entry %d: %v", i, entry)
		}
	}
	want(t, "depth", depth(t, b, "", topic), "ready 0 held 0 in flight 1")
	err = r.Settle(t.Context(), []driver.Settlement{{Delivery: theirs[0], Verdict: driver.Done}})
	wantErr(t, "a stranger's alone", err, driver.ErrRevoked)
	settle(t, other, driver.Done, theirs...)
}

func TestKeptTokenDoesNotSettleAnother(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	send(t, s, "old")
	ds := take(t, r, 1)
	kept := *ds[0]
	settle(t, r, driver.Done, ds...)
	send(t, s, "new") // in the same memory
	ds = take(t, r, 1)
	wantErr(t, "kept", r.Settle(t.Context(), []driver.Settlement{{Delivery: &kept, Verdict: driver.Done}}), driver.ErrRevoked)
	want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 1")
	settle(t, r, driver.Done, ds...)
}

func TestCloseGivesBackWhatIsUnsettled(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	topic := queueTopic("orders")
	send(t, s, "0", "1", "2", "3")
	old := take(t, r, 3)
	settle(t, r, driver.Done, old[1])
	for range 2 {
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	next := receiver(t, b, "", topic)
	ds := take(t, next, 9)
	want(t, "given back", bodies(ds), "[0 2 3]")
	if ds[0] == old[0] {
		t.Error("the same delivery was handed out again, though its handler may still read it")
	}
	want(t, "counts", fmt.Sprint(ds[0].Delivered, ds[2].Delivered), "2 1")
	err := r.Settle(t.Context(), []driver.Settlement{{Delivery: old[0], Verdict: driver.Done}})
	wantErr(t, "late settlement", err, driver.ErrRevoked)
	settle(t, next, driver.Done, ds...)
	for range 10 {
		send(t, s, "other", "other", "other", "other")
		settle(t, next, driver.Done, take(t, next, 9)...)
	}
	want(t, "memory of the closed receiver", bodies([]*driver.Delivery{old[0], old[2]}), "[0 2]")
	_, err = r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
	wantErr(t, "receive after close", err, driver.ErrClosed)
}

func TestCloseEndsReceive(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*mem.Broker, driver.Receiver) error{
		"receiver": func(_ *mem.Broker, r driver.Receiver) error { return r.Close(context.Background()) },
		"broker":   func(b *mem.Broker, _ driver.Receiver) error { return b.Close(context.Background()) },
		"receiver while the broker is away": func(b *mem.Broker, r driver.Receiver) error {
			b.Faults().Disconnect(mem.SoftCut)
			synctest.Wait()
			return r.Close(context.Background())
		},
		"broker while it is away": func(b *mem.Broker, _ driver.Receiver) error {
			b.Faults().Disconnect(mem.SoftCut)
			synctest.Wait()
			return b.Close(context.Background())
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, _, r := one(t, mem.Config{})
				result := make(chan error)
				go func() {
					_, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
					result <- err
				}()
				synctest.Wait()
				if err := end(b, r); err != nil {
					t.Error(err)
				}
				wantErr(t, "receive", <-result, driver.ErrClosed)
				b.Faults().Disconnect(mem.HardCut)
				_, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
				wantErr(t, "receive later", err, driver.ErrClosed)
				if _, open := <-r.(driver.Revoker).Revocations(); open {
					t.Error("Revocations is open")
				}
			})
		})
	}
}

func TestBrokerClosesOnce(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{})
	send(t, s, "0")
	take(t, r, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	ctx, topic := t.Context(), queueTopic("orders")
	for what, err := range map[string]error{
		"sender":  second(b.OpenSender(ctx, driver.Target{Topic: topic})),
		"queue":   second(b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{topic}})),
		"group":   second(b.OpenGroup(ctx, driver.Source{Topics: []driver.Topic{fanout("f")}, Group: "g"})),
		"declare": b.Declare(ctx, topic, driver.Declare),
		"depth":   second(b.Depth(ctx, driver.Source{Topics: []driver.Topic{topic}})),
	} {
		wantErr(t, what, err, driver.ErrClosed)
	}
}
