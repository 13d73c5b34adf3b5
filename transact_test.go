package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

var results = wherry.NewTopic("results", codec.JSON[order]{})

// A txRig is a consumer of orders that publishes results in its transactions.
type txRig struct {
	b      *mem.Broker
	out    *wherry.TxPublisher[order]
	events events
	calls  calls
}

func newTxRig(tb testing.TB, cfg mem.Config) *txRig {
	tb.Helper()
	cfg.Poison = true
	r := &txRig{b: mem.New(cfg), out: wherry.NewTxPublisher(results)}
	tb.Cleanup(func() { _ = r.b.Close(context.Background()) })
	return r
}

// consumer publishes a result of each order and then does as h says.
func (r *txRig) consumer(size int, age time.Duration, h wherry.Handler[order], opts ...wherry.ConsumeOption) *wherry.Consumer {
	opts = append([]wherry.ConsumeOption{wherry.OnEvent(r.events.record)}, opts...)
	return wherry.Consume(
		wherry.Transacted(r.b, orders, wherry.Publishing(r.out), wherry.TxAtMost(size, age)),
		func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			r.calls.add("%d", m.Value.ID)
			if err := r.out.Publish(ctx, &m.Value); err != nil {
				return wherry.Retry(err)
			}
			return h(ctx, m)
		}, opts...)
}

// results reads what was published, in order. It is called inside a synctest bubble.
func (r *txRig) results(tb testing.TB) []int {
	tb.Helper()
	var got []int
	reader := start(tb, wherry.Consume(wherry.Queue(r.b, results), wherry.Func(func(_ context.Context, o order) error {
		got = append(got, o.ID)
		return nil
	})))
	synctest.Wait()
	reader.mustEnd()
	return got
}

func ack(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }

func publishOrders(tb testing.TB, b *mem.Broker, n int) {
	tb.Helper()
	list := make([]order, n)
	for i := range list {
		list[i].ID = i
	}
	publish(tb, b, orders, list...)
}

func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

func wantInts(tb testing.TB, what string, got, want []int) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: %v, want %v", what, got, want)
	}
}

// What the handlers of a batch publish is seen together, in the order of their messages, whichever was quicker.
func TestTransactionIsSeenAtOnceAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 8)
		run := start(t, r.consumer(8, time.Minute, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			time.Sleep(time.Duration(8-m.Value.ID) * time.Second)
			return wherry.Ack()
		}, wherry.Concurrency(8)))
		time.Sleep(7900 * time.Millisecond)
		if n := depthOf(t, r.b, "results"); n != 0 {
			t.Errorf("%d results are there while a handler of the transaction works", n)
		}
		time.Sleep(200 * time.Millisecond)
		wantInts(t, "results", r.results(t), upTo(8))
		run.mustEnd()
		if n := len(eventsOf[*wherry.Committed](&r.events)); n != 1 {
			t.Errorf("%d commits, want 1", n)
		}
	})
}

// What a handler published that failed is not published; its retry and its dead letter are committed with the others.
func TestTransactionOfFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 6)
		run := start(t, r.consumer(6, time.Minute, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			switch {
			case m.Value.ID == 1:
				return wherry.Reject(errors.New("bad"))
			case m.Value.ID == 2 && m.Attempt() == 1:
				return wherry.Retry(errors.New("not yet"))
			case m.Value.ID == 3 && m.Attempt() == 1:
				panic("not yet")
			}
			return wherry.Ack()
		}))
		time.Sleep(time.Minute)
		wantInts(t, "results", sorted(r.results(t)), []int{0, 2, 3, 4, 5})
		run.mustEnd()
		dead := collectDead(t, r.b, wherry.DeadLetters(orders))
		if len(dead) != 1 || dead[0].Value.Value.ID != 1 || dead[0].Value.Reason != wherry.ReasonRejected {
			t.Errorf("dead letters: %+v", dead)
		}
		if n := len(eventsOf[*wherry.Retried](&r.events)); n != 2 {
			t.Errorf("%d retries were told, want 2", n)
		}
	})
}

// Where there are no dead letters a message that failed is settled with the others, and nothing of it is published.
func TestTransactionDropsWhatTheFailedPublished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 4)
		run := start(t, r.consumer(4, time.Minute, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == 1 {
				return wherry.Reject(errors.New("bad"))
			}
			return wherry.Ack()
		}, wherry.NoDeadLetters()))
		synctest.Wait()
		wantInts(t, "results", r.results(t), []int{0, 2, 3})
		run.mustEnd()
		if n := depthOf(t, r.b, "orders"); n != 0 {
			t.Errorf("%d messages are left", n)
		}
		if n := len(eventsOf[*wherry.Dropped](&r.events)); n != 1 {
			t.Errorf("%d dropped messages were told, want 1", n)
		}
	})
}

func sorted(s []int) []int { slices.Sort(s); return s }

// Until the commit nothing is done: a failed commit has every message handled again, and its results seen once.
func TestFailedCommitComesAgainWhole(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(f *mem.Faults){
		"settlement refused": func(f *mem.Faults) { f.FailSettle("orders", 1) },
		"cut before":         func(f *mem.Faults) { f.CutBefore("results", 1) },
		"send refused":       func(f *mem.Faults) { f.FailSend("results", 1, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newTxRig(t, mem.Config{})
				publishOrders(t, r.b, 5)
				fault(r.b.Faults())
				run := start(t, r.consumer(5, time.Minute, ack))
				synctest.Wait()
				if n := depthOf(t, r.b, "results"); n != 0 {
					t.Errorf("%d results of a transaction that failed", n)
				}
				time.Sleep(time.Minute)
				wantInts(t, "results", r.results(t), upTo(5))
				run.mustEnd()
				if n := len(r.calls.all()); n != 10 {
					t.Errorf("%d handler calls, want 10", n)
				}
				if n := len(eventsOf[*wherry.CommitFailed](&r.events)); n != 1 {
					t.Errorf("%d failed commits were told, want 1", n)
				}
			})
		})
	}
}

// A commit that was cut after it was written is done: nothing comes again.
func TestUnconfirmedCommitIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 5)
		r.b.Faults().CutAfter("results", 1)
		run := start(t, r.consumer(5, time.Minute, ack))
		time.Sleep(time.Minute)
		wantInts(t, "results", r.results(t), upTo(5))
		run.mustEnd()
		failed := eventsOf[*wherry.CommitFailed](&r.events)
		if len(failed) != 1 || !errors.Is(failed[0].Err, wherry.ErrUnconfirmed) || len(r.calls.all()) != 5 {
			t.Errorf("failed commits %v, %d calls", failed, len(r.calls.all()))
		}
	})
}

// A commit waits while a target is full, and the consumer says so when it lasts.
func TestCommitWaitsForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{MaxMessages: 10, Lease: time.Second})
		publish(t, r.b, results, make([]order, 10)...)
		publishOrders(t, r.b, 5)
		run := start(t, r.consumer(5, time.Minute, ack))
		time.Sleep(20 * time.Second)
		if n := depthOf(t, r.b, "results"); n != 10 {
			t.Errorf("%d results, want the 10 that were there", n)
		}
		if got := r.results(t); len(got) != 15 {
			t.Errorf("%d results, want 15: %v", len(got), got)
		}
		run.mustEnd()
		if n := len(r.calls.all()); n != 5 {
			t.Errorf("%d handler calls, want 5", n)
		}
	})
}

// A transaction that cannot be committed fails the health with its reason, though its handlers return again and again.
func TestUncommittedIsNoProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 5)
		r.b.Faults().FailSend("results", -1, errors.New("no permission"))
		c := r.consumer(5, time.Minute, ack, wherry.StallAfter(10*time.Second))
		run := start(t, c)
		time.Sleep(time.Minute)
		if h := c.Health(); h.Ready || h.Cause != "cannot commit its transactions" || !strings.Contains(h.Detail, "no permission") {
			t.Errorf("health: %+v", h)
		}
		r.b.Faults().Clear()
		time.Sleep(time.Minute)
		if h := c.Health(); !h.Ready || h.Cause != "" {
			t.Errorf("health: %+v", h)
		}
		wantInts(t, "results", r.results(t), upTo(5))
		run.mustEnd()
	})
}

// A full dead-letter topic keeps its own message out of the transaction, and nothing else.
func TestFullDeadLettersHoldUpNoTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{MaxDeadLetters: 1})
		publishOrders(t, r.b, 5)
		run := start(t, r.consumer(5, time.Minute, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID < 2 {
				return wherry.Reject(errors.New("bad"))
			}
			return wherry.Ack()
		}))
		time.Sleep(10 * time.Second)
		wantInts(t, "results", r.results(t), []int{2, 3, 4})
		if n := depthOf(t, r.b, "orders"); n != 1 {
			t.Errorf("%d orders left, want the one whose dead letter was refused", n)
		}
		if n := len(collectDead(t, r.b, wherry.DeadLetters(orders))); n != 1 {
			t.Errorf("%d dead letters, want 1", n)
		}
		time.Sleep(time.Minute)
		run.mustEnd()
		if n := len(collectDead(t, r.b, wherry.DeadLetters(orders))); n != 1 {
			t.Errorf("%d further dead letters, want 1", n)
		}
	})
}

// What can never be sent is a failure of its message, or its transaction would fail for ever.
func TestUnsendableResultIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 3)
		publish(t, r.b, orders, order{ID: 3, Text: strings.Repeat("x", 500)})
		r.b.Faults().RejectSize("results", 400)
		run := start(t, r.consumer(4, time.Minute, ack, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
		time.Sleep(time.Minute)
		wantInts(t, "results", r.results(t), upTo(3))
		run.mustEnd()
		dead := collectDead(t, r.b, wherry.DeadLetters(orders))
		if len(dead) != 1 || dead[0].Value.Value.ID != 3 || !strings.Contains(dead[0].Value.LastError, "too large") {
			t.Errorf("dead letters: %+v", dead)
		}
	})
}

// A transaction that has been open for its time calls no further handler; what it had not begun comes again.
func TestTransactionEndsAtItsAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 20)
		run := start(t, r.consumer(20, time.Second, func(context.Context, *wherry.Message[order]) wherry.Outcome {
			time.Sleep(400 * time.Millisecond)
			return wherry.Ack()
		}))
		time.Sleep(1500 * time.Millisecond)
		if n := depthOf(t, r.b, "results"); n != 3 {
			t.Errorf("%d results after 1.5 s, want 3", n)
		}
		time.Sleep(time.Minute)
		wantInts(t, "results", r.results(t), upTo(20))
		run.mustEnd()
		if n := len(r.calls.all()); n != 20 {
			t.Errorf("%d calls, want 20", n)
		}
	})
}

// A tenure that is lost aborts the transaction; one that ends with grace lets it commit what is in hand.
func TestRevocationAndTransaction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grace time.Duration
		calls int
	}{
		"lost":      {grace: 0, calls: 11},
		"too late":  {grace: time.Second, calls: 11},
		"with time": {grace: 5 * time.Second, calls: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newTxRig(t, mem.Config{})
				publishOrders(t, r.b, 10)
				run := start(t, r.consumer(10, time.Hour, func(context.Context, *wherry.Message[order]) wherry.Outcome {
					time.Sleep(2 * time.Second)
					return wherry.Ack()
				}, wherry.Concurrency(1)))
				time.Sleep(500 * time.Millisecond)
				r.b.Faults().Revoke("orders", c.grace)
				time.Sleep(time.Second)
				if n := depthOf(t, r.b, "results"); n != 0 {
					t.Errorf("%d results of an open transaction", n)
				}
				time.Sleep(time.Hour)
				wantInts(t, "results", r.results(t), upTo(10))
				run.mustEnd()
				if n := len(r.calls.all()); n != c.calls {
					t.Errorf("%d calls, want %d", n, c.calls)
				}
			})
		})
	}
}

// A stop commits what finished; what its drain time did not let finish comes again, and of it nothing is seen.
func TestStopInTheMiddleOfATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		publishOrders(t, r.b, 4)
		ended := make(chan struct{})
		run := start(t, r.consumer(4, time.Hour, func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == 1 {
				<-ended
			}
			return wherry.Ack()
		}, wherry.Concurrency(2), wherry.DrainTime(time.Second)))
		time.Sleep(time.Second)
		err := run.end()
		if abandoned, ok := errors.AsType[*wherry.AbandonedError](err); !ok || abandoned.Handlers != 1 {
			t.Errorf("Run: %v, want one handler abandoned", err)
		}
		wantInts(t, "results", r.results(t), []int{0, 2, 3})
		close(ended)
		synctest.Wait()
		run = start(t, r.consumer(4, time.Hour, ack))
		time.Sleep(time.Second)
		run.mustEnd()
		wantInts(t, "results", r.results(t), []int{1})
	})
}

// The leases of a whole transaction are kept while one of its handlers works.
func TestTransactionKeepsItsLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{Lease: time.Second})
		publishOrders(t, r.b, 6)
		slow := func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == 0 {
				time.Sleep(20 * time.Second)
			}
			return wherry.Ack()
		}
		run := start(t, r.consumer(6, time.Minute, slow, wherry.Concurrency(2)), r.consumer(6, time.Minute, slow, wherry.Name("other")))
		time.Sleep(time.Minute)
		wantInts(t, "results", sorted(r.results(t)), upTo(6))
		run.mustEnd()
		if n := len(r.calls.all()); n != 6 {
			t.Errorf("%d calls, want 6", n)
		}
	})
}

// A publisher of transactions publishes nowhere else.
func TestTxPublisherOutsideOfItsTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newTxRig(t, mem.Config{})
		stranger := wherry.NewTxPublisher(results)
		publishOrders(t, r.b, 1)
		var kept context.Context
		run := start(t, r.consumer(1, time.Minute, func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			kept = ctx //nolint:fatcontext // That is what is tried.
			if err := stranger.Publish(ctx, &m.Value); !errors.Is(err, wherry.ErrNotSent) || !strings.Contains(err.Error(), "Publishing") {
				t.Errorf("by a publisher that is not named: %v", err)
			}
			return wherry.Ack()
		}))
		synctest.Wait()
		for name, ctx := range map[string]context.Context{"outside": t.Context(), "after its handler": kept} {
			if err := r.out.Publish(ctx, &order{}); !errors.Is(err, wherry.ErrNotSent) {
				t.Errorf("%s: %v", name, err)
			}
		}
		run.mustEnd()
		wantInts(t, "results", r.results(t), upTo(1))
	})
}

// What does not fit is an error at start.
func TestTransactedMistakes(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	fan := wherry.NewTopic("fan", codec.JSON[order]{}, wherry.Fanout("one"))
	twice := wherry.NewTxPublisher(wherry.NewTopic("twice", codec.JSON[order]{}))
	for want, c := range map[string]*wherry.Consumer{
		"GroupTransacted":    wherry.Consume(wherry.Transacted(b, fan), ack),
		"Transacted, or":     wherry.Consume(wherry.GroupTransacted(b, "one", orders), ack),
		"at most 0 messages": wherry.Consume(wherry.Transacted(b, orders, wherry.TxAtMost(0, 0)), ack),
		"batches do not fit": wherry.ConsumeBatch(wherry.Transacted(b, orders), func(context.Context, *wherry.MessageBatch[order]) wherry.Outcome { return wherry.Ack() }),
		"prefetch does not":  wherry.Consume(wherry.Transacted(b, orders), ack, wherry.Prefetch(3)),
		"has no topic":       wherry.Consume(wherry.Transacted(b, orders, wherry.Publishing(&wherry.TxPublisher[order]{})), ack),
		"publisher of the":   wherry.Consume(wherry.Transacted(b, orders, wherry.Publishing(nil)), ack),
		"option is nil":      wherry.Consume(wherry.Transacted(b, orders, nil), ack),
		"is named twice":     wherry.Consume(wherry.Transacted(b, orders, wherry.Publishing(twice), wherry.Publishing(twice)), ack),
		"the broker is nil":  wherry.Consume(wherry.Transacted(nil, orders), ack),
	} {
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	for _, err := range wherry.Pull(t.Context(), wherry.Transacted(b, orders)) {
		if err == nil || !strings.Contains(fmt.Sprint(err), "Pull does not fit") {
			t.Errorf("Pull: %v", err)
		}
	}
}
