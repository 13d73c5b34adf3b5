package mem_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A settlement that is cut off fails, is applied or not, and can be made no second time. Who has the delivery keeps its memory.
func TestFaultsCutSettlements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut   func(f *mem.Faults, n int)
		again string
	}{
		"before": {cut: func(f *mem.Faults, n int) { f.CutBeforeSettle("orders", n) }, again: "[0 1]"},
		"after":  {cut: func(f *mem.Faults, n int) { f.CutAfterSettle("orders", n) }, again: "[1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, r := one(t, mem.Config{Poison: true})
			send(t, s, "0", "1", "2")
			ds := take(t, r, 3)
			c.cut(b.Faults(), 2)
			err := r.Settle(t.Context(), []driver.Settlement{
				{Delivery: ds[0], Verdict: driver.Done}, {Delivery: ds[1]}, {Delivery: ds[2], Verdict: driver.Done},
			})
			for i, wanted := range []error{driver.ErrDisconnected, driver.ErrDisconnected, nil} {
				want(t, fmt.Sprint("entry ", i), errors.Is(driver.EntryError(err, i), wanted), true)
			}
			want(t, "the memory", string(ds[0].Body)+string(ds[1].Body), "01")
			err = r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}})
			wantErr(t, "once more", err, driver.ErrRevoked)
			again := take(t, r, 9)
			want(t, "again", bodies(again), c.again)
			settle(t, r, driver.Done, again...)
			want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 0")
		})
	}
}

// On a log a commit that was not answered stands, and sends that are cut off say whether they are there.
func TestLogFaultsCutConnections(t *testing.T) {
	t.Parallel()
	b, s, r := oneLog(t, mem.LogConfig{Poison: true})
	f := b.Faults()
	f.CutBefore("orders", 1)
	wantErr(t, "before the write", s.Send(t.Context(), records("lost")), driver.ErrNotSent)
	f.CutAfter("orders", 1)
	wantErr(t, "after the write", s.Send(t.Context(), records("0")), driver.ErrUnconfirmed)
	send(t, s, "1", "2")
	ds := take(t, r, 3)
	want(t, "sent", bodies(ds), "[0 1 2]")
	f.CutAfterCommit("orders", 2)
	err := r.Settle(t.Context(), []driver.Settlement{
		{Delivery: ds[0], Verdict: driver.Done}, {Delivery: ds[1]}, {Delivery: ds[2], Verdict: driver.Done},
	})
	for i, wanted := range []error{driver.ErrDisconnected, driver.ErrDisconnected, nil} {
		want(t, fmt.Sprint("entry ", i), errors.Is(driver.EntryError(err, i), wanted), true)
	}
	if errors.Is(driver.EntryError(err, 0), driver.ErrRevoked) {
		t.Errorf("the settlement that was not answered: %v", err)
	}
	want(t, "the memory", string(ds[0].Body)+string(ds[1].Body), "01")
	want(t, "commit", b.Positions("orders", "")[0].Commit, uint64(1))
	wantErr(t, "once more", r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}}), driver.ErrRevoked)
	again := take(t, r, 9)
	want(t, "again", bodies(again), "[1]")
	settle(t, r, driver.Done, again...)
}
