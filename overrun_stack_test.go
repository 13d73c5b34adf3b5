package wherry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// Where very many handlers hang, each is told of, and a few with their stacks: to take all of them stops everything.
func TestManyOverrunsHaveFewStacks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, ordersTo(100)...)
		hang := make(chan struct{})
		var ev events
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			<-hang
			return wherry.Ack()
		}, wherry.Concurrency(100), wherry.HandlerTimeout(time.Second), wherry.OnEvent(ev.record)))
		time.Sleep(5 * time.Second)
		close(hang)
		r.mustEnd()
		over := eventsOf[*wherry.Overran](&ev)
		assert.Equal(t, len(over), 100)
		stacks := 0
		for _, e := range over {
			if e.Stack != "" {
				stacks++
			}
		}
		assert.True(t, stacks <= 8, "all have stacks")
	})
}
