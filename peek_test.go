package wherry_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A look shows each dead letter once, in order, and leaves all as it was.
func TestPeekDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 1000
		b := newMem(t)
		buried(t, b, orders, someOrders(n)...)
		letters := wherry.PeekDeadLetters(t.Context(), b, orders)
		for range 2 {
			next := 0
			for m, err := range letters {
				assert.NoError(t, err)
				assert.Equal(t, m.Value.Value.ID, next)
				assert.Equal(t, m.Value.Reason, wherry.ReasonRejected)
				next++
			}
			assert.Equal(t, next, n)
		}
		for range letters {
			break
		}
		next := 0
		for _, m := range collectDead(t, b, wherry.DeadLetters(orders)) {
			assert.Equal(t, m.Value.Value.ID, next)
			next++
		}
		assert.Equal(t, next, n)
	})
}

// A look takes the options of a redrive, and shows what that would move.
func TestPeekShowsWhatARedriveWouldMove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		buried(t, b, orders, someOrders(20)...)
		opts := []wherry.RedriveOption{
			wherry.RedriveReason(wherry.ReasonRejected), wherry.RedriveLimit(3),
			wherry.RedriveIf(func(dead wherry.DeadLetterInfo, m wherry.AnyMessage) bool {
				return dead.LastError == "still broken" && strings.HasSuffix(string(m.Body()), `5}`)
			}),
		}
		var seen []string
		for m, err := range wherry.PeekDeadLetters(t.Context(), b, orders, opts...) {
			assert.NoError(t, err)
			seen = append(seen, fmt.Sprint(m.Value.Value.ID))
		}
		assert.Equal(t, strings.Join(seen, " "), "5 15")
		got, err := wherry.Redrive(t.Context(), b, orders, opts...)
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: 2, Passed: 18})
	})
}

// However often dead letters are looked at, and by whatever means, no broker's count makes dead letters of them again.
func TestLookingAtDeadLettersGivesNoneUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 5
		b := mem.New(mem.Config{Weak: mem.Weak{CountReleases: true}})
		defer b.Close(context.Background())
		buried(t, b, orders, someOrders(n)...)
		for range 30 {
			seen := 0
			for _, err := range wherry.PeekDeadLetters(t.Context(), b, orders) {
				assert.NoError(t, err)
				seen++
			}
			assert.Equal(t, seen, n)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		seen := 0
		for _, err := range wherry.Pull(ctx, wherry.Queue(b, wherry.DeadLetters(orders))) {
			assert.NoError(t, err)
			if seen++; seen == 1000 {
				break
			}
		}
		assert.Equal(t, seen, 1000)
		assert.Equal(t, depthOf(t, b, "orders.dlq"), n)
		assert.Equal(t, depthOf(t, b, "orders.dlq.dlq"), 0)
		got, err := wherry.Redrive(t.Context(), b, orders)
		assert.NoError(t, err)
		assert.Equal(t, got.Moved, n)
	})
}

// Who wants it has a bound of deliveries for dead letters as well.
func TestMaxDeliveredOfDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Weak: mem.Weak{CountReleases: true}})
		defer b.Close(context.Background())
		buried(t, b, orders, order{ID: 1})
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		seen := 0
		for range wherry.Pull(ctx, wherry.Queue(b, wherry.DeadLetters(orders)), wherry.MaxDelivered(3)) {
			seen++
		}
		assert.Equal(t, seen, 3)
		assert.Equal(t, depthOf(t, b, "orders.dlq.dlq"), 1)
	})
}

// A look ends by its loop, its context and its bound, and gives all back.
func TestPeekEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{MaxMessages: 20_000})
		defer b.Close(context.Background())
		const n = 10_100
		buried(t, b, orders, someOrders(n)...)

		var last error
		seen := 0
		for m, err := range wherry.PeekDeadLetters(t.Context(), b, orders) {
			if last = err; m != nil {
				seen++
			}
		}
		if last == nil || !strings.Contains(last.Error(), "wherry: peek orders: more than 10000 dead letters are there") {
			t.Errorf("the error is %v", last)
		}
		assert.True(t, seen >= 10_000, fmt.Sprint("seen: ", seen))

		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		for m, err := range wherry.PeekDeadLetters(ctx, b, orders) {
			if last = err; m != nil {
				stop()
			}
		}
		assert.ErrorIs(t, last, context.Canceled)

		func() {
			defer func() { assert.Equal(t, recover(), any("mine")) }()
			for range wherry.PeekDeadLetters(t.Context(), b, orders) {
				panic("mine")
			}
		}()
		seen = 0
		for _, err := range wherry.PeekDeadLetters(t.Context(), b, orders, wherry.RedriveLimit(n-200)) {
			assert.NoError(t, err)
			seen++
		}
		assert.Equal(t, seen, n-200)
		var calls atomic.Int64
		r := start(t, wherry.Consume(wherry.Queue(b, wherry.DeadLetters(orders)), rejectAll[wherry.DeadLetter[order]](&calls)))
		synctest.Wait()
		r.mustEnd()
		assert.Equal(t, int(calls.Load()), n)
	})
}
