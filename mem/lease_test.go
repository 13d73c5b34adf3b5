package mem_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func TestLeaseEndsAndAnotherReceives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{Lease: time.Second})
		want(t, "lease", r.Info().Lease, time.Second)
		send(t, s, "0", "1")
		old := take(t, r, 2)
		settle(t, r, driver.Done, old[1])
		next := receiver(t, b, "", queueTopic("orders"))
		begun := time.Now()
		ds := take(t, next, 9)
		want(t, "after", time.Since(begun), time.Second)
		want(t, "received", bodies(ds), "[0]")
		want(t, "delivered", ds[0].Delivered, 2)
		if ds[0] == old[0] || ds[0].Token == old[0].Token {
			t.Error("the delivery or its token was used again")
		}
		err := r.Settle(t.Context(), []driver.Settlement{{Delivery: old[0], Verdict: driver.Done}})
		wantErr(t, "late settlement", err, driver.ErrRevoked)
		settle(t, next, driver.Done, ds...)
		want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 0")
	})
}

func TestExtendKeepsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{Lease: time.Second})
		x, ok := r.(driver.Extender)
		if !ok {
			t.Fatal("the receiver is no Extender")
		}
		send(t, s, "kept", "lost", "done")
		ds := take(t, r, 3)
		settle(t, r, driver.Done, ds[2])
		for range 5 {
			time.Sleep(600 * time.Millisecond)
			if err := x.Extend(t.Context(), ds[:1]); err != nil {
				t.Errorf("extend: %v", err)
			}
		}
		err := x.Extend(t.Context(), append(ds, nil))
		if err := driver.EntryError(err, 0); err != nil {
			t.Errorf("what was extended: %v", err)
		}
		for i := 1; i < 4; i++ {
			wantErr(t, "what was not", driver.EntryError(err, i), driver.ErrRevoked)
		}
		want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 1 held 0 in flight 1")
		settle(t, r, driver.Done, ds[0])
	})
}

func TestSettlementAtTheEndOfTheLeaseIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, r := one(t, mem.Config{Lease: time.Second})
		send(t, s, "x")
		ds := take(t, r, 1)
		time.Sleep(time.Second) // the timer may or may not have fired
		err := r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}})
		wantErr(t, "settlement", err, driver.ErrRevoked)
		want(t, "again", bodies(take(t, r, 1)), "[x]")
	})
}

func TestExtendFailsWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	b, s, r := one(t, mem.Config{Lease: time.Minute})
	send(t, s, "x")
	ds := take(t, r, 1)
	b.Faults().Disconnect(mem.SoftCut)
	wantErr(t, "extend", r.(driver.Extender).Extend(t.Context(), ds), driver.ErrDisconnected)
	b.Faults().Reconnect()
	if err := r.(driver.Extender).Extend(t.Context(), ds); err != nil {
		t.Errorf("extend: %v", err)
	}
}

func TestNoLeaseNoExtender(t *testing.T) {
	t.Parallel()
	_, _, r := one(t, mem.Config{})
	if _, ok := r.(driver.Extender); ok {
		t.Error("the receiver is an Extender, though the broker has no lease")
	}
}

// A commit that waits for room keeps its own leases, and not those of others: what a stuck receiver has comes back in time.
func TestLeasesEndBesideACommitThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{Lease: time.Second, MaxMessages: 2})
		in, out := queueTopic("in"), queueTopic("out")
		s := sender(t, b, driver.Target{Topic: in})
		send(t, s, "0")
		send(t, sender(t, b, driver.Target{Topic: out}), "full", "full")
		x, err := b.OpenTransacted(t.Context(), driver.Source{Topics: []driver.Topic{in}})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close(t.Context())
		ds, tx := nextOf(t, x, 1)
		if err := tx.Send(t.Context(), driver.Target{Topic: out}, records("more")); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		committed := make(chan error, 1)
		go func() { committed <- tx.Commit(ctx, doneOf(ds...)) }()
		time.Sleep(5 * time.Second) // the timer is set for the end of the commit by now
		want(t, "committed", len(committed), 0)
		send(t, s, "1")
		stuck, next := receiver(t, b, "", in), receiver(t, b, "", in)
		want(t, "stuck with", bodies(take(t, stuck, 1)), "[1]")
		begun := time.Now()
		want(t, "comes again", bodies(take(t, next, 1)), "[1]")
		want(t, "after", time.Since(begun), time.Second)
		wantErr(t, "commit", <-committed, context.DeadlineExceeded)
		want(t, "it waited to its end", time.Since(begun), 55*time.Second)
	})
}
