package wherry_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// TestLeasesOutliveRefusedSettlements has the broker refuse settlements for longer than a lease. The message that is done,
// the one in hand and those that wait all keep their leases: each is handled once.
func TestLeasesOutliveRefusedSettlements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Lease: 2 * time.Second})
		defer b.Close(context.Background())
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3}, order{ID: 4})
		b.Faults().FailSettle("orders", -1)
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Value.ID)
			if m.Value.ID == 2 {
				select {
				case <-time.After(5 * time.Second):
				case <-ctx.Done():
					seen.add("context ended: %v", context.Cause(ctx))
				}
			}
			return wherry.Ack()
		}, wherry.Concurrency(2)))
		time.Sleep(6 * time.Second)
		b.Faults().FailSettle("orders", 0)
		time.Sleep(time.Minute)
		got := fmt.Sprint(seen.all())
		assert.True(t, len(seen.all()) == 4, "each is handled once: "+got)
		r.mustEnd()
	})
}
