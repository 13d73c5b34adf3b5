package wherrytest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

type order struct {
	ID  int
	Bad string // how it fails: "", "once", "always", "reject"
}

var (
	orders   = wherry.NewTopic("orders", codec.JSON[order]{})
	receipts = wherry.NewTopic("receipts", codec.JSON[order]{})
	events   = wherry.NewTopic("events", codec.JSON[order]{}, wherry.Fanout("billing", "audit"))
)

var errBad = errors.New("card declined")

// fail is what the handler of these tests does with an order.
func fail(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
	switch {
	case m.Value.Bad == "always", m.Value.Bad == "once" && m.Attempt() == 1:
		return wherry.Retry(errBad)
	case m.Value.Bad == "reject":
		return wherry.Reject(errBad)
	default:
		return wherry.Ack()
	}
}

// A plain broker delivers and cannot be asked how much it has, as most brokers cannot exactly.
type plain interface {
	driver.Queuer
	driver.Grouper
}

// everywhere runs a test inside a synctest bubble and outside, with delays that fit, on a broker that knows its depths and
// on one that does not.
func everywhere(t *testing.T, body func(t *testing.T, tt *wherrytest.Test, retry wherry.PolicyOption)) {
	t.Helper()
	both := func(t *testing.T, delay time.Duration) {
		retry := wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{delay}})
		body(t, wherrytest.New(t), retry)
		b := mem.New(mem.Config{Poison: true})
		defer b.Close(t.Context())
		tt := wherrytest.New(t, wherrytest.OnBroker(struct{ plain }{b}))
		body(t, tt, retry)
		assert.ErrorIs(t, tt.Stop(), errors.ErrUnsupported) // it forgets, and nobody can tell whether it is empty
	}
	t.Run("inside", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { both(t, time.Hour) })
	})
	t.Run("outside", func(t *testing.T) {
		t.Parallel()
		both(t, time.Millisecond)
	})
}

func TestEverythingIsCountedToItsEnd(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, tt *wherrytest.Test, retry wherry.PolicyOption) {
		in := wherrytest.Probe(tt, orders)
		rec := wherrytest.Record(fail)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), rec.Handle, retry, wherry.Concurrency(3)))

		in.Publish(order{ID: 1}, order{ID: 2, Bad: "once"}, order{ID: 3, Bad: "always"}, order{ID: 4, Bad: "reject"})
		tt.Quiesce()

		in.Expect(wherrytest.Counts{Published: 4, Handled: 2, Retried: 3, Dead: 2})
		in.ExpectPublished(4)
		in.ExpectHandled(2)
		in.ExpectRetried(3)
		in.ExpectDead(2)
		assert.Equal(t, len(rec.Calls()), 7)
		assert.Equal(t, len(rec.Values()), 2)
		reasons := map[int]wherry.Reason{}
		for _, m := range in.DeadLetters() {
			reasons[m.Value.Value.ID] = m.Value.Reason
			assert.Equal(t, m.Value.LastError, errBad.Error())
		}
		assert.Equal(t, reasons, map[int]wherry.Reason{3: wherry.ReasonExhausted, 4: wherry.ReasonRejected})
	})
}

func TestQuiesceWaitsForWhatHandlersPublish(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, tt *wherrytest.Test, retry wherry.PolicyOption) {
		in, out := wherrytest.Probe(tt, orders), wherrytest.Probe(tt, receipts)
		pub, err := wherry.NewPublisher(t.Context(), tt.Broker(), receipts)
		assert.NoError(t, err)
		first := wherry.Consume(wherry.Queue(tt.Broker(), orders),
			func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
				if err := pub.Publish(ctx, &m.Value, wherry.WithHeader("from", m.ID())); err != nil {
					return wherry.Retry(err)
				}
				return wherry.Ack()
			}, retry)
		rec := wherrytest.Record(fail)
		tt.Run(first, wherry.Consume(wherry.Queue(tt.Broker(), receipts), rec.Handle, retry))

		const n = 200
		for i := range n {
			in.Publish(order{ID: i, Bad: map[bool]string{true: "once"}[i%50 == 0]})
		}
		tt.Quiesce()

		in.Expect(wherrytest.Counts{Published: n, Handled: n})
		out.Expect(wherrytest.Counts{Published: n, Handled: n, Retried: n / 50})
		published := out.Published()
		assert.Equal(t, len(published), n)
		assert.True(t, published[0].Headers.Get("from") != "", "the header of what a handler published is not there")
		assert.NoError(t, pub.Close(t.Context()))
	})
}

func TestGroupsAreCountedApart(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, tt *wherrytest.Test, retry wherry.PolicyOption) {
		in := wherrytest.Probe(tt, events)
		tt.Run(
			wherry.Consume(wherry.Group(tt.Broker(), "billing", events), fail, retry),
			wherry.Consume(wherry.Group(tt.Broker(), "audit", events), wherrytest.Record[order](nil).Handle),
		)

		in.Publish(order{ID: 1, Bad: "once"}, order{ID: 2, Bad: "reject"})
		tt.Quiesce()

		in.Expect(wherrytest.Counts{Published: 2, Handled: 3, Retried: 1, Dead: 1})
		in.Group("billing").Expect(wherrytest.Counts{Published: 2, Handled: 1, Retried: 1, Dead: 1})
		in.Group("audit").Expect(wherrytest.Counts{Published: 2, Handled: 2})
		assert.Equal(t, len(in.Group("billing").DeadLetters()), 1)
		assert.Equal(t, len(in.Group("audit").DeadLetters()), 0)
	})
}

// A group that nobody consumes keeps its messages, and nobody waits for them.
func TestOnlyWhatIsConsumedIsAwaited(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, events)
	tt.Run(wherry.Consume(wherry.Group(tt.Broker(), "billing", events), fail))
	in.Publish(order{ID: 1}, order{ID: 2})
	tt.Quiesce()
	in.Expect(wherrytest.Counts{Published: 2, Handled: 2})
}

func TestDelayedAndDeferredAreAwaited(t *testing.T) {
	t.Parallel()
	for name, weak := range map[string]mem.Weak{"broker delays": {}, "hold topics": {NoHold: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(mem.Config{Poison: true, Weak: weak})
				defer b.Close(t.Context())
				tt := wherrytest.New(t, wherrytest.OnBroker(b))
				in := wherrytest.Probe(tt, orders)
				deferred := false
				rec := wherrytest.Record(func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
					if !deferred {
						deferred = true
						return wherry.Defer(2 * time.Hour)
					}
					return wherry.Ack()
				})
				began := time.Now()
				tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), rec.Handle))

				in.PublishWith(order{ID: 1}, wherry.WithDelay(5*time.Hour))
				tt.Quiesce()

				in.Expect(wherrytest.Counts{Published: 1, Handled: 1, Deferred: 1})
				if got := time.Since(began); got < 7*time.Hour || got > 8*time.Hour {
					t.Errorf("handled after %v, want 7 hours", got)
				}
				assert.NoError(t, tt.Stop())
			})
		})
	}
}

func TestRedriveIsFollowed(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, tt *wherrytest.Test, retry wherry.PolicyOption) {
		in := wherrytest.Probe(tt, orders)
		broken := true
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders),
			func(context.Context, *wherry.Message[order]) wherry.Outcome {
				if broken {
					return wherry.Reject(errBad)
				}
				return wherry.Ack()
			}))
		in.Publish(order{ID: 1}, order{ID: 2})
		tt.Quiesce()
		in.ExpectDead(2)

		broken = false
		done, err := wherry.Redrive(t.Context(), tt.Broker(), orders)
		assert.NoError(t, err)
		assert.Equal(t, done.Moved, 2)
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 2, Handled: 2, Dead: 2})
	})
}

func TestDeadLettersAreConsumedAsAnythingElse(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	in, dead := wherrytest.Probe(tt, orders), wherrytest.Probe(tt, wherry.DeadLetters(orders))
	rec := wherrytest.Record[wherry.DeadLetter[order]](nil)
	tt.Run(
		wherry.Consume(wherry.Queue(tt.Broker(), orders), fail),
		wherry.Consume(wherry.Queue(tt.Broker(), wherry.DeadLetters(orders)), rec.Handle),
	)
	in.Publish(order{ID: 7, Bad: "reject"})
	tt.Quiesce()
	in.Expect(wherrytest.Counts{Published: 1, Dead: 1})
	dead.Expect(wherrytest.Counts{Handled: 1})
	assert.Equal(t, rec.Values()[0].Value.ID, 7)
}

func TestUntilLooksAtEachChange(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, orders)
	held := make(chan struct{})
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders),
		func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == 3 {
				<-held
			}
			return wherry.Ack()
		}))
	in.Publish(order{ID: 1}, order{ID: 2}, order{ID: 3})
	tt.Until(func() bool { return in.Counts().Handled == 2 })
	in.ExpectHandled(2)
	close(held)
	tt.Quiesce()
	in.ExpectHandled(3)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	held := make(chan struct{})
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders),
		func(context.Context, *wherry.Message[order]) wherry.Outcome {
			<-held
			return wherry.Ack()
		}))
	wherrytest.Probe(tt, orders).Publish(order{ID: 1})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	assert.ErrorIs(t, tt.Wait(ctx), context.Canceled)
	close(held)
	assert.NoError(t, tt.Wait(t.Context()))
}

func TestBrokerWithoutAnAbilitySaysSo(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{})
	defer b.Close(t.Context())
	bare := struct{ driver.Broker }{b}
	tt := wherrytest.New(t, wherrytest.OnBroker(bare))
	broker, from := tt.Broker(), driver.Source{Topics: []driver.Topic{{Name: "orders"}}, Prefetch: 1}
	for what, open := range map[string]func(context.Context, driver.Source) (driver.Receiver, error){
		"Queuer": broker.OpenQueue, "Grouper": broker.OpenGroup, "Sequencer": broker.OpenSequence,
		"GroupSequencer": broker.OpenGroupSequence, "Broadcaster": broker.OpenBroadcast,
	} {
		_, err := open(t.Context(), from)
		assert.ErrorIs(t, err, errors.ErrUnsupported)
		wants(t, err.Error(), "is not a driver."+what)
	}
	_, err := broker.OpenTransacted(t.Context(), from)
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = broker.Depth(t.Context(), driver.Source{})
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorIs(t, broker.Declare(t.Context(), driver.Topic{Name: "orders"}, driver.Declare), errors.ErrUnsupported)
	assert.Equal(t, broker.Describe(from), driver.Description{})
}

func TestTheBrokerDescribesTheRealOne(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	found := wherry.Explain(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
	assert.Equal(t, found.Consumers[0].Known, wherry.KnownDescribed)
}
