package mem_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func TestRevokedTenureIsSettledUntilItEnds(t *testing.T) {
	t.Parallel()
	for what, finish := range map[string]func(driver.Revocation){
		"done":  func(rev driver.Revocation) { rev.Done() },
		"until": func(rev driver.Revocation) { time.Sleep(time.Until(rev.Until)); synctest.Wait() },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, s, r := one(t, mem.Config{})
				send(t, s, "0", "1", "2")
				old := take(t, r, 2)
				want(t, "told", b.Faults().Revoke("orders", time.Second), 1)
				rev := <-r.(driver.Revoker).Revocations()
				tenure := old[0].Tenure
				want(t, "tenure", rev.Tenure, tenure)
				want(t, "until", time.Until(rev.Until), time.Second)
				want(t, "lost", rev.Lost, false)
				want(t, "waiting", r.(driver.Waiter).Waiting(), "rebalancing")
				settle(t, r, driver.Done, old[0])
				got := make(chan []*driver.Delivery)
				go func() { got <- take(t, r, 9) }() // nothing is taken while the tenure ends
				synctest.Wait()
				finish(rev)
				ds := <-got
				want(t, "then", bodies(ds), "[1 2]")
				if ds[0].Tenure == tenure || ds[0] == old[1] {
					t.Error("the tenure or the delivery is the old one")
				}
				err := r.Settle(t.Context(), []driver.Settlement{{Delivery: old[1], Verdict: driver.Done}})
				wantErr(t, "late settlement", err, driver.ErrRevoked)
				want(t, "waiting", r.(driver.Waiter).Waiting(), "")
				if rev.Done != nil {
					rev.Done() // too late to matter
				}
				settle(t, r, driver.Done, ds...)
			})
		})
	}
}

func TestRevokedDeliveriesGoToAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		other := receiver(t, b, "", queueTopic("orders"))
		send(t, s, "0", "1")
		old := take(t, r, 2)
		if err := b.Faults().RevokeReceiver(r, 0); err != nil {
			t.Fatal(err)
		}
		rev := <-r.(driver.Revoker).Revocations()
		want(t, "lost", rev.Lost, true)
		ds := take(t, other, 9)
		want(t, "received", bodies(ds), "[0 1]")
		want(t, "delivered", ds[0].Delivered, 2)
		err := r.Settle(t.Context(), []driver.Settlement{{Delivery: old[0], Verdict: driver.Done}, {Delivery: old[1]}})
		wantErr(t, "late", driver.EntryError(err, 0), driver.ErrRevoked)
		wantErr(t, "late", driver.EntryError(err, 1), driver.ErrRevoked)
		want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 2")
		settle(t, other, driver.Done, ds...)
	})
}

func TestRevokeOfTheWrongReceiver(t *testing.T) {
	t.Parallel()
	b, _, _ := one(t, mem.Config{})
	_, _, stranger := one(t, mem.Config{})
	if b.Faults().RevokeReceiver(stranger, 0) == nil {
		t.Error("a receiver of another broker: no error")
	}
	if b.Faults().RevokeReceiver(nil, 0) == nil {
		t.Error("no receiver: no error")
	}
	want(t, "unknown topic", b.Faults().Revoke("unknown", 0), 0)
}

func TestUnreadRevocationsDoNotKeepCloseWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _, r := one(t, mem.Config{Lease: time.Minute})
		revoked := make(chan struct{})
		go func() {
			defer close(revoked)
			for range 100 { // more than any buffer
				b.Faults().Revoke("orders", 0)
			}
		}()
		synctest.Wait()
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		<-revoked
	})
}
