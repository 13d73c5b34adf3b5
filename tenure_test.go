package wherry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// TestBatchRevokedWhileCollected takes back what a batch has collected, several times before it is full: the driver is told
// at once that nothing is held, and the handler sees each message once, in a batch of the last tenure.
func TestBatchRevokedWhileCollected(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]mem.Config{"tenure": {}, "lease": {Lease: time.Minute}} {
		for grace, what := range map[time.Duration]string{0: "lost", time.Hour: "revoked"} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := mem.New(cfg)
					defer b.Close(context.Background())
					publish(t, b, orders, order{ID: 1}, order{ID: 2})
					var seen calls
					var ev events
					r := start(t, wherry.ConsumeBatch(wherry.Queue(b, orders),
						func(_ context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
							for _, m := range mb.All() {
								seen.add("%d", m.Value.ID)
							}
							return wherry.Ack()
						}, wherry.BatchSize(100), wherry.BatchAge(10*time.Second), wherry.OnEvent(ev.record)))
					const rounds = 3
					for range rounds {
						synctest.Wait()
						assert.Equal(t, b.Faults().Revoke("orders", grace), 1)
					}
					synctest.Wait()
					publish(t, b, orders, order{ID: 3})
					time.Sleep(time.Minute)
					assert.Equal(t, seen.all(), []string{"1", "2", "3"})
					revoked := eventsOf[*wherry.Revoked](&ev)
					assert.Equal(t, len(revoked), rounds)
					for _, one := range revoked {
						assert.Equal(t, one.Untouched, 2)
						assert.Equal(t, one.InHand, 0)
					}
					r.mustEnd()
				})
			})
		}
	}
}
