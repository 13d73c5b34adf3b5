package wherry

import (
	"testing"
	"time"

	"github.com/wherryhq/wherry/internal/assert"
)

func TestHoldHop(t *testing.T) {
	t.Parallel()
	ms := time.Millisecond
	for _, c := range []struct {
		wait time.Duration
		step time.Duration
		stay time.Duration
	}{
		{-time.Second, 200 * ms, 200 * ms},
		{0, 200 * ms, 200 * ms},
		{200 * ms, 200 * ms, 200 * ms},
		{240 * ms, 200 * ms, 240 * ms}, // jitter of 20 %
		{300 * ms, 200 * ms, 200 * ms}, // two hops
		{700 * ms, 800 * ms, 800 * ms}, // rounded up
		{800 * ms, 800 * ms, 800 * ms},
		{3840 * ms, 3200 * ms, 3840 * ms},
		{10 * time.Second, 12800 * ms, 12800 * ms},
		{30 * time.Second, 30 * time.Second, 30 * time.Second},
		{36 * time.Second, 30 * time.Second, 36 * time.Second},
		{45 * time.Second, 30 * time.Second, 30 * time.Second},
		{5 * time.Hour, 6 * time.Hour, 6 * time.Hour},
		{24 * time.Hour, 6 * time.Hour, 6 * time.Hour},
	} {
		class, stay := holdHop(c.wait)
		assert.Equal(t, holdSteps[class], c.step)
		assert.Equal(t, stay, c.stay)
	}
}

// FuzzHoldHop: hops never end before the wait is over, and there are few of them.
func FuzzHoldHop(f *testing.F) {
	for _, ns := range []int64{0, 1, 199e6, 240e6, 250e6, 251e6, 10e9, 45e9, 3600e9, 86400e9, -5} {
		f.Add(ns)
	}
	f.Fuzz(func(t *testing.T, ns int64) {
		wait := min(time.Duration(ns), 48*time.Hour)
		waited, hops := time.Duration(0), 0
		for left := wait; left > 0 || hops == 0; left = wait - waited {
			class, stay := holdHop(left)
			if class < 0 || class >= len(holdSteps) || stay <= 0 {
				t.Fatalf("holdHop(%v) = %d, %v", left, class, stay)
			}
			waited += stay
			hops++
			if hops > 100 {
				t.Fatalf("%v takes more than 100 hops", wait)
			}
		}
		if waited < wait {
			t.Fatalf("%v ended after %v", wait, waited)
		}
		if most := max(wait, 0) + max(wait, 0)/2 + holdSteps[0]; waited > most {
			t.Fatalf("%v took %v, more than %v", wait, waited, most)
		}
	})
}

func TestHoldTopicNames(t *testing.T) {
	t.Parallel()
	var names []string
	for class := range holdSteps {
		name := holdTopic("orders", "billing", class).Name
		assert.NoError(t, checkName(name))
		names = append(names, name)
	}
	assert.Equal(t, names, []string{
		"orders.billing.hold.200ms", "orders.billing.hold.800ms", "orders.billing.hold.3_2s", "orders.billing.hold.12_8s",
		"orders.billing.hold.30s", "orders.billing.hold.5m", "orders.billing.hold.1h", "orders.billing.hold.6h",
	})
}
