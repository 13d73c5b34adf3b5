package mem_test

import (
	"slices"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/drivertest"
	"github.com/wherryhq/wherry/mem"
)

// harness is a broker for each case, made with cfg. All connections of a case are that broker.
func harness(cfg mem.Config) drivertest.Harness {
	return drivertest.Harness{
		Virtual: true,
		Setup: func(_ testing.TB, h *drivertest.Harness) {
			b := mem.New(cfg)
			h.Open = func(testing.TB) driver.Broker { return b }
		},
		Lacks: map[string]string{
			drivertest.HookInject: "the broker has no client but this driver",
			drivertest.HookCut:    "fault switches come",
			drivertest.HookRevoke: "fault switches come",
		},
	}
}

func TestAbilities(t *testing.T) {
	t.Parallel()
	found := drivertest.Find(t, harness(mem.Config{Lease: time.Second}))
	for _, a := range []drivertest.Ability{
		drivertest.Queue, drivertest.Group, drivertest.Declare, drivertest.Inspect, drivertest.Hold, drivertest.Bounded,
		drivertest.Lease, drivertest.Revoke, drivertest.Waiting, drivertest.Share, drivertest.Delay,
	} {
		if !slices.Contains(found, a) {
			t.Errorf("the broker is said to have no %s", a)
		}
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mem.Config{
		"plain": {},
		"lease": {Lease: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			drivertest.Run(t, harness(cfg))
		})
	}
}
