package wherry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// deadOrders are the ids of the dead letters of orders.
func deadOrders(tb testing.TB, b *mem.Broker) []int {
	tb.Helper()
	var ids []int
	for _, m := range collectDead(tb, b, wherry.DeadLetters(orders)) {
		ids = append(ids, m.Value.Value.ID)
	}
	return sorted(ids)
}

// Several messages whose results can never be sent are each a failure, in one transaction, and the others of it go on. The failed
// commit is one, however many they are.
func TestUnsendableResultsDoNotTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 2)
		large := strings.Repeat("x", 500)
		publish(t, r.b, orders, order{ID: 2, Text: large}, order{ID: 3, Text: large}, order{ID: 4, Text: large}, order{ID: 5})
		r.b.Faults().RejectSize("results", 400)
		run := start(t, r.consumer(6, time.Minute, ack, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
		time.Sleep(time.Minute)
		wantInts(t, "results", sorted(r.results(t)), []int{0, 1, 5})
		run.mustEnd()
		wantInts(t, "dead letters", deadOrders(t, r.b), []int{2, 3, 4})
		assert.Equal(t, len(eventsOf[*wherry.CommitFailed](&r.events)), 1)
	})
}

// Messages without an id, or with the same, are told apart: the failure is that of the message whose result was refused.
func TestUnsendableResultOfAForeignMessage(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]driver.ID{"no id": {}, "one id": {Text: "the same"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newTxRig(t, mem.Config{})
				sender, err := r.b.OpenSender(t.Context(), driver.Target{Topic: driver.Topic{Name: orders.Name()}})
				assert.NoError(t, err)
				var recs []driver.Record
				for i, n := range []int{0, 500, 500, 0} {
					recs = append(recs, driver.Record{ID: id, Body: fmt.Appendf(nil, `{"id":%d,"text":"%s"}`, i, strings.Repeat("x", n))})
				}
				recs = append(recs, recs[1]) // which nothing tells from the other
				assert.NoError(t, sender.Send(t.Context(), recs))
				assert.NoError(t, sender.Close(t.Context()))
				r.b.Faults().RejectSize("results", 400)
				run := start(t, r.consumer(5, time.Minute, ack, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
				time.Sleep(time.Minute)
				wantInts(t, "results", sorted(r.results(t)), []int{0, 3})
				run.mustEnd()
				wantInts(t, "dead letters", deadOrders(t, r.b), []int{1, 1, 2})
			})
		})
	}
}

// A failure that was committed is over: the next attempt publishes what it likes.
func TestUnsendableResultFailsOneAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publish(t, r.b, orders, order{ID: 1, Text: strings.Repeat("x", 500)})
		r.b.Faults().RejectSize("results", 400)
		var attempts []int
		run := start(t, r.consumer(1, time.Minute, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if attempts = append(attempts, m.Attempt()); m.Attempt() == 2 {
				r.b.Faults().RejectSize("results", 0)
			}
			return wherry.Ack()
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2, First: 10 * time.Second})))
		time.Sleep(time.Minute)
		synctest.Wait()
		wantInts(t, "attempts", attempts, []int{1, 1, 2})
		wantInts(t, "results", r.results(t), []int{1})
		run.mustEnd()
		wantInts(t, "dead letters", deadOrders(t, r.b), nil)
	})
}
