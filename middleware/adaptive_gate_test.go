package middleware

import (
	"context"
	"sync"
	"testing"

	"github.com/wherryhq/wherry/internal/assert"
)

// One whose context ends in the moment in which it is let through gives its place back.
func TestAdaptiveGateLosesNoPlace(t *testing.T) {
	t.Parallel()
	a := NewAdaptiveLimit(AdaptiveConfig{Max: 1})
	own := newWaiter()
	for range 3000 {
		c, ok := a.begin(t.Context(), own)
		assert.True(t, ok, "the place is taken")
		ctx, stop := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() {
			if c, ok := a.begin(ctx, newWaiter()); ok {
				a.end(c, success)
			}
		})
		for a.State().Waiting == 0 {
			continue // until it waits
		}
		both.Go(stop)
		both.Go(func() { a.end(c, success) })
		both.Wait()
		stop()
		assert.Equal(t, a.State().InFlight, 0)
		assert.Equal(t, a.State().Waiting, 0)
	}
}

// Those that wait get in by the order in which they came, and those that gave up are left out, wherever they stood.
func TestAdaptiveGateKeepsTheOrder(t *testing.T) {
	t.Parallel()
	a := NewAdaptiveLimit(AdaptiveConfig{Max: 1})
	held, _ := a.begin(t.Context(), newWaiter())
	var in []int
	var all sync.WaitGroup
	var stops []context.CancelFunc
	const n = 9
	for i := range n {
		ctx, stop := context.WithCancel(t.Context())
		stops = append(stops, stop)
		all.Go(func() {
			if c, ok := a.begin(ctx, newWaiter()); ok {
				in = append(in, i) // one at a time
				a.end(c, success)
			}
		})
		for a.State().Waiting != i+1 {
			continue
		}
	}
	for left, i := range []int{4, 0, 8, 3} {
		stops[i]()
		for a.State().Waiting != n-left-1 {
			continue
		}
	}
	a.end(held, success)
	all.Wait()
	assert.Equal(t, in, []int{1, 2, 5, 6, 7})
	for _, stop := range stops {
		stop()
	}
}
