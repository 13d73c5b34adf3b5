package mem_test

import (
	"slices"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/drivertest"
	"github.com/wherryhq/wherry/mem"
)

// logHarness is a log for each case. All connections of a case are that broker. Its connections are cut by cut, and its tenures
// end after grace.
func logHarness(cfg mem.LogConfig, cut mem.Cut, grace time.Duration) drivertest.Harness {
	return drivertest.Harness{
		Virtual: true,
		Setup: func(_ testing.TB, h *drivertest.Harness) {
			b := mem.NewLog(cfg)
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
				f.FailCommit(t.Name, -1)
				return func() { f.CutBefore(t.Name, 0); f.FailCommit(t.Name, 0) }
			}
			h.CutAfterWrite = func(_ testing.TB, _ driver.Broker, t driver.Topic) func() {
				f := b.Faults()
				f.CutAfter(t.Name, -1)
				f.CutAfterCommit(t.Name, -1)
				return func() { f.CutAfter(t.Name, 0); f.CutAfterCommit(t.Name, 0) }
			}
			h.Wipe = func(testing.TB) { b.Faults().WipeTopology() }
			h.Revoke = func(tb testing.TB, r driver.Receiver) {
				if err := b.Faults().RevokeReceiver(r, grace); err != nil {
					tb.Fatal(err)
				}
			}
		},
	}
}

func TestLogAbilities(t *testing.T) {
	t.Parallel()
	found := drivertest.Find(t, logHarness(mem.LogConfig{}, mem.HardCut, 0))
	has := []drivertest.Ability{
		drivertest.Queue, drivertest.Group, drivertest.Broadcast, drivertest.Sequence, drivertest.GroupSequence,
		drivertest.Declare, drivertest.Inspect, drivertest.Describe, drivertest.Sized, drivertest.Revoke, drivertest.Waiting,
		drivertest.InspectReceiver,
	}
	for _, a := range has {
		if !slices.Contains(found, a) {
			t.Errorf("the log is said to have no %s", a)
		}
	}
	for _, a := range []drivertest.Ability{
		drivertest.Hold, drivertest.Accept, drivertest.Lease, drivertest.Share, drivertest.Delay, drivertest.Durable,
	} {
		if slices.Contains(found, a) {
			t.Errorf("the log is said to have %s, which no log has", a)
		}
	}
}

func TestLogConformance(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]drivertest.Harness{
		"plain":         logHarness(mem.LogConfig{}, mem.HardCut, 0),
		"grace":         logHarness(mem.LogConfig{Rebalance: time.Second}, mem.SoftCut, time.Second),
		"one partition": fewer(logHarness(mem.LogConfig{Partitions: 1, MaxRecord: 128 << 10}, mem.HardCut, time.Second)),
		"many":          fewer(logHarness(mem.LogConfig{Partitions: 64, MaxRecord: 128 << 10, SendBatch: 64}, mem.HardCut, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, h)
		})
	}
}

// fewer makes a harness quicker where what it adds does not depend on numbers.
func fewer(h drivertest.Harness) drivertest.Harness {
	h.Messages, h.MaxRecord = 200, 128<<10
	return h
}
