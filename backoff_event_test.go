package wherry_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// What an event says of the next try is when it comes. Pauses double, and are not the same for everybody.
func TestBlockedCopiesComeWhenTheEventSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type try struct {
			at   time.Time
			next time.Duration
		}
		var mu sync.Mutex
		var tries []try
		b := mem.New(mem.Config{})
		defer b.Close(context.Background())
		b.Faults().FailSend("orders.dlq", 6, nil)
		publish(t, b, orders, order{ID: 1})
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			return wherry.Reject(errors.New("no"))
		}, wherry.OnEvent(func(e wherry.Event) {
			mu.Lock()
			defer mu.Unlock()
			switch e := e.(type) {
			case *wherry.MoveBlocked:
				tries = append(tries, try{time.Now(), e.Next})
			case *wherry.DeadLettered:
				tries = append(tries, try{at: time.Now()})
			}
		})))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, len(tries), 7)
		odd := false
		for i, each := range tries[:6] {
			assert.Equal(t, tries[i+1].at.Sub(each.at), each.next)
			least := 200 * time.Millisecond << i
			assert.True(t, each.next >= least && each.next <= least+least/4, "the pause doubles, and is a quarter longer at most")
			odd = odd || each.next != least
		}
		assert.True(t, odd, "all pauses are without jitter")
	})
}
