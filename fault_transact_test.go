package wherry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Four are fetched and one is handled when the transaction is old enough: it alone is committed. Then the connection dies, and the
// other three come.
func TestFault39TransactionCommitsWhatWasHandled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 4)
		handled := r.consumer(4, time.Second, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == 0 {
				time.Sleep(1500 * time.Millisecond)
			} else {
				time.Sleep(time.Hour) // until the connection is gone
			}
			return wherry.Ack()
		}, wherry.NoHandlerTimeout(), wherry.DrainTime(time.Second))
		run := start(t, handled)
		time.Sleep(2 * time.Second)
		wantInts(t, "results of the first commit", r.results(t), upTo(1))
		if n := depthOf(t, r.b, "orders"); n != 3 {
			t.Errorf("%d orders are left, want 3", n)
		}
		r.b.Faults().Disconnect(mem.HardCut)
		r.b.Faults().Reconnect()
		if _, abandoned := errors.AsType[*wherry.AbandonedError](run.end()); !abandoned {
			t.Error("the handler in hand was not abandoned")
		}
		rest := start(t, r.consumer(4, time.Second, ack, wherry.Name("rest")))
		time.Sleep(time.Minute)
		rest.mustEnd()
		wantInts(t, "results after the end of the first", sorted(r.results(t)), []int{1, 2, 3})
		time.Sleep(time.Hour) // and the abandoned handler publishes nothing
		wantInts(t, "results of the abandoned", r.results(t), nil)
	})
}

// Of four deliveries one is given to Commit, and the receiver ends: the other three come, as they were.
func TestFault39CommitSettlesWhatItWasGiven(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	publishOrders(t, b, 4)
	from := driver.Source{Topics: []driver.Topic{{Name: "orders"}}, Prefetch: 4}
	x, err := b.OpenTransacted(t.Context(), from)
	assert.NoError(t, err)
	ds, tx, err := x.Next(t.Context(), make([]*driver.Delivery, 0, 4))
	assert.NoError(t, err)
	assert.Equal(t, len(ds), 4)
	handled := ds[2].ID
	assert.NoError(t, tx.Commit(t.Context(), []driver.Settlement{{Delivery: ds[2], Verdict: driver.Done}}))
	assert.NoError(t, x.Close(t.Context()))
	r, err := b.OpenQueue(t.Context(), from)
	assert.NoError(t, err)
	defer r.Close(t.Context())
	rest, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 4))
	assert.NoError(t, err)
	assert.Equal(t, len(rest), 3)
	for _, d := range rest {
		assert.True(t, d.ID != handled, "what was handled comes again")
		assert.Equal(t, d.Control.Attempt, rest[0].Control.Attempt)
	}
}
