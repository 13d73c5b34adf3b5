package wherry_test

import (
	"context"
	"sync"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// What a router shares is in the health of a consumer that has not run.
func TestHealthBeforeRunHasWhatIsShared(t *testing.T) {
	t.Parallel()
	c := wherry.Consume(wherry.Queue(newMem(t), orders), func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() })
	assert.Equal(t, c.Health().MaxWorkers, 1)
	wherry.NewRouter("in", wherry.Mount(c), wherry.Share(wherry.WorkersBetween(2, 5)))
	h := c.Health()
	assert.Equal(t, h.Consumer, "in/orders")
	assert.Equal(t, h.MinWorkers, 2)
	assert.Equal(t, h.MaxWorkers, 5)
}

// Health may be asked while the consumer takes its options from its router, which the race detector watches.
func TestHealthWhileARouterStarts(t *testing.T) {
	t.Parallel()
	for range 20 {
		askWhileStarting(t)
	}
}

func askWhileStarting(t *testing.T) {
	t.Helper()
	b := newMem(t)
	r := wherry.NewRouter("in", wherry.Mount(
		wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() })))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for r.Health()[0].State == wherry.StateIdle {
				continue
			}
			stop()
		})
	}
	assert.NoError(t, r.Run(ctx))
	asking.Wait()
}
