package wherry_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

var blobs = wherry.NewTopic("blobs", codec.Bytes{})

// A roomRig consumes orders whose handlers publish mib(id, attempt) MiB, and ends as o says of the last Publish.
type roomRig struct {
	b      *mem.Broker
	events events
	blobs  atomic.Int64 // that were seen
	mib    func(id, attempt int) int
	o      func(id, attempt int, err error) wherry.Outcome
}

// failed makes a failure of what could not be published.
func failed(_, _ int, err error) wherry.Outcome {
	if err != nil {
		return wherry.Retry(err)
	}
	return wherry.Ack()
}

// run consumes n orders for an hour and returns the dead letters.
func (r *roomRig) run(tb testing.TB, n int, opts ...wherry.ConsumeOption) []*wherry.Message[wherry.DeadLetter[order]] {
	tb.Helper()
	r.b = mem.New(mem.Config{MaxBytes: 1 << 30})
	tb.Cleanup(func() { _ = r.b.Close(context.Background()) })
	publishOrders(tb, r.b, n)
	out := wherry.NewTxPublisher(blobs)
	body := []byte(strings.Repeat("x", 1<<20))
	opts = append([]wherry.ConsumeOption{wherry.OnEvent(r.events.record)}, opts...)
	txs := start(tb, wherry.Consume(
		wherry.Transacted(r.b, orders, wherry.Publishing(out), wherry.TxAtMost(500, time.Hour)),
		func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			var err error
			for range r.mib(m.Value.ID, m.Attempt()) {
				if err = out.Publish(ctx, &body); err != nil {
					break
				}
			}
			return r.o(m.Value.ID, m.Attempt(), err)
		}, opts...))
	reader := start(tb, wherry.Consume(wherry.Queue(r.b, blobs), wherry.Func(func(context.Context, []byte) error {
		r.blobs.Add(1)
		return nil
	})))
	time.Sleep(time.Hour)
	txs.mustEnd()
	reader.mustEnd()
	return collectDead(tb, r.b, wherry.DeadLetters(orders))
}

func (r *roomRig) wantBlobs(tb testing.TB, want int) {
	tb.Helper()
	if n := r.blobs.Load(); n != int64(want) {
		tb.Errorf("%d blobs were published, want %d", n, want)
	}
}

// Handlers that publish more than 64 MiB together have not failed: no attempt is spent, and all is published in several
// transactions, with one lane and with more lanes than have room at once.
func TestTransactionThatIsFullFailsNoMessage(t *testing.T) {
	t.Parallel()
	for _, lanes := range []int{1, 16} {
		synctest.Test(t, func(t *testing.T) {
			slow := func(int, int) int { time.Sleep(time.Millisecond); return 12 }
			r := &roomRig{mib: slow, o: failed}
			dead := r.run(t, 20, wherry.Concurrency(lanes), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}))
			if len(dead) != 0 {
				t.Errorf("%d lanes: %d dead letters, want none; the first: %s", lanes, len(dead), dead[0].Value.LastError)
			}
			r.wantBlobs(t, 20*12)
		})
	}
}

// Nor has a message failed whose handler panics, or rejects, since there was no room.
func TestTransactionThatIsFullForgivesAnyOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &roomRig{mib: func(int, int) int { return 40 }, o: func(id, _ int, err error) wherry.Outcome {
			switch {
			case err == nil:
				return wherry.Ack()
			case id == 1:
				panic(err)
			}
			return wherry.Reject(err)
		}}
		if dead := r.run(t, 3, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})); len(dead) != 0 {
			t.Errorf("%d dead letters, want none", len(dead))
		}
		r.wantBlobs(t, 3*40)
	})
}

// A handler that publishes more than 64 MiB alone has failed, and the others have not.
func TestTransactionHandlerThatIsTooMuchAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &roomRig{o: failed, mib: func(id, _ int) int {
			if id == 1 {
				return 70
			}
			return 1
		}}
		dead := r.run(t, 3, wherry.Concurrency(1), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2, First: time.Second}))
		if len(dead) != 1 || dead[0].Value.Value.ID != 1 || dead[0].Value.Attempts != 2 {
			t.Errorf("%d dead letters, want order 1 after 2 attempts", len(dead))
		}
		r.wantBlobs(t, 2)
	})
}

// What a handler published that failed takes no room of the others: one transaction is enough for them.
func TestTransactionFailedHandlersGiveTheirRoomBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &roomRig{mib: func(int, int) int { return 40 }, o: func(id, _ int, err error) wherry.Outcome {
			if err != nil || id < 3 {
				return wherry.Reject(errors.Join(errors.New("bad"), err))
			}
			return wherry.Ack()
		}}
		dead := r.run(t, 4, wherry.Concurrency(1))
		if n := len(eventsOf[*wherry.Committed](&r.events)); n != 1 || len(dead) != 3 {
			t.Errorf("%d commits and %d dead letters, want 1 and 3", n, len(dead))
		}
		r.wantBlobs(t, 40)
	})
}

// What a call of the handler published that failed is not committed for a middleware that calls it again, or that makes an
// acknowledgement of the failure; what the middleware publishes itself is.
func TestTransactionMiddlewareThatCallsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 3)
		calls := map[int]int{}
		again := func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				if err := r.out.Publish(ctx, &order{ID: 100}); err != nil {
					t.Error(err)
				}
				if o := next(ctx, m); o.Kind() == wherry.KindAck {
					return o
				}
				func() {
					defer func() { _ = recover() }()
					next(ctx, m)
				}()
				return wherry.Ack()
			}
		}
		run := start(t, r.consumer(3, time.Minute, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			calls[m.Value.ID]++
			switch {
			case m.Value.ID == 0 && calls[0] == 1, m.Value.ID == 1 && calls[1] == 1:
				return wherry.Retry(errors.New("not yet"))
			case m.Value.ID == 1:
				panic("never")
			}
			return wherry.Ack()
		}, wherry.Concurrency(1), wherry.Use(again)))
		time.Sleep(time.Minute)
		wantInts(t, "results", sorted(r.results(t)), []int{0, 2, 100, 100, 100})
		run.mustEnd()
	})
}
