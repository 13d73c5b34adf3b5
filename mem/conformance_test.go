package mem_test

import (
	"slices"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/drivertest"
	"github.com/wherryhq/wherry/mem"
)

// harness is a broker for each case, made with cfg. All connections of a case are that broker. Its connections are cut
// by cut, and its tenures end after grace.
func harness(cfg mem.Config, cut mem.Cut, grace time.Duration) drivertest.Harness {
	return drivertest.Harness{
		Virtual: true,
		Setup: func(_ testing.TB, h *drivertest.Harness) {
			b := mem.New(cfg)
			h.Open = func(testing.TB) driver.Broker { return b }
			h.Inject = func(tb testing.TB, t driver.Topic, r driver.Record) {
				if err := b.Faults().Inject(t.Name, r); err != nil {
					tb.Fatal(err)
				}
			}
			h.Cut = func(testing.TB, driver.Broker) func() {
				b.Faults().Disconnect(cut)
				return b.Faults().Reconnect
			}
			h.CutBeforeWrite = func(_ testing.TB, _ driver.Broker, t driver.Topic) func() {
				f := b.Faults()
				f.CutBefore(t.Name, -1)
				f.CutBeforeSettle(t.Name, -1)
				return func() { f.CutBefore(t.Name, 0); f.CutBeforeSettle(t.Name, 0) }
			}
			h.CutAfterWrite = func(_ testing.TB, _ driver.Broker, t driver.Topic) func() {
				f := b.Faults()
				f.CutAfter(t.Name, -1)
				f.CutAfterSettle(t.Name, -1)
				return func() { f.CutAfter(t.Name, 0); f.CutAfterSettle(t.Name, 0) }
			}
			h.Wipe = func(testing.TB) { b.Faults().WipeTopology() }
			h.Revoke = func(tb testing.TB, r driver.Receiver) {
				if err := b.Faults().RevokeReceiver(r, grace); err != nil {
					tb.Fatal(err)
				}
			}
			h.RevokeTx = func(tb testing.TB, r driver.TxReceiver) {
				if err := b.Faults().RevokeReceiver(r, grace); err != nil {
					tb.Fatal(err)
				}
			}
		},
	}
}

func TestAbilities(t *testing.T) {
	t.Parallel()
	found := drivertest.Find(t, harness(mem.Config{Lease: time.Second}, mem.HardCut, 0))
	for _, a := range []drivertest.Ability{
		drivertest.Queue, drivertest.Group, drivertest.Declare, drivertest.Inspect, drivertest.Hold, drivertest.Sized,
		drivertest.Lease, drivertest.Revoke, drivertest.Waiting, drivertest.Share, drivertest.Delay,
		drivertest.InspectReceiver,
	} {
		if !slices.Contains(found, a) {
			t.Errorf("the broker is said to have no %s", a)
		}
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]drivertest.Harness{
		"plain": harness(mem.Config{}, mem.HardCut, 0),
		"lease": harness(mem.Config{Lease: 30 * time.Second}, mem.SoftCut, time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, h)
		})
	}
}

// What makes a broker weak without making its driver wrong is no excuse: the contract holds all the same.
func TestWeakConformance(t *testing.T) {
	t.Parallel()
	for name, weak := range map[string]mem.Weak{
		"counts releases":        {CountReleases: true},
		"requeues behind new":    {RequeueBehindNew: true},
		"requeues in nack order": {RequeueInNackOrder: true},
		"cannot hold":            {NoHold: true},
		"does not count":         {NoCount: true},
		"has a credit":           {CreditPerQueue: 100},
		"drops repetitions":      {Dedup: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness(mem.Config{MaxRecord: 128 << 10, Weak: weak}, mem.HardCut, time.Second)
			h.Messages, h.MaxRecord = 200, 128<<10
			drivertest.Run(t, h)
		})
	}
}
