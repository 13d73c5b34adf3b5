package wherry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// The rate in health is that of the time in which work waited.
func TestHealthRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		c := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			time.Sleep(100 * time.Millisecond)
			return wherry.Ack()
		}, wherry.Concurrency(2), wherry.Prefetch(2))
		assert.Equal(t, c.Health().Rate, 0)
		r := start(t, c)
		time.Sleep(time.Hour)
		assert.Equal(t, c.Health().Rate, 0)
		for range 1000 {
			publish(t, b, orders, order{})
		}
		time.Sleep(45 * time.Second)
		near := func(rate float64) bool { return rate > 19 && rate < 21 }
		assert.True(t, near(c.Health().Rate), "not 20 a second")
		time.Sleep(time.Hour)
		assert.True(t, near(c.Health().Rate), "time in which nothing waited counted")
		r.mustEnd()
	})
}
