package wherrytest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

// faulty runs body in a bubble, on a broker that misbehaves.
func faulty(t *testing.T, cfg mem.Config, body func(t *testing.T, tt *wherrytest.Test, b *mem.Broker)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg.Poison = true
		b := mem.New(cfg)
		defer b.Close(t.Context())
		tt := wherrytest.New(t, wherrytest.OnBroker(b))
		body(t, tt, b)
		assert.NoError(t, tt.Stop())
	})
}

func TestAMessageThatIsLostIsMissed(t *testing.T) {
	t.Parallel()
	faulty(t, mem.Config{}, func(t *testing.T, tt *wherrytest.Test, b *mem.Broker) {
		b.Faults().Drop("orders", 1)
		in := wherrytest.Probe(tt, orders)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
		in.Publish(order{ID: 1}, order{ID: 2})
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 2, Handled: 1})
	})
}

// A broker that cannot be asked may still bring it, so the wait ends with the test's patience.
func TestAMessageThatIsLostElsewhereIsAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		b.Faults().Drop("orders", 1)
		text := failuresOf(t, func(tb testing.TB) {
			tt := wherrytest.New(tb, wherrytest.OnBroker(struct{ plain }{b}))
			tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
			wherrytest.Probe(tt, orders).PublishWith(order{ID: 1}, wherry.WithID("gone"))
			tt.Quiesce()
		})
		wants(t, text, "nothing happened for 1m0s", "gone in orders: attempt 1 waits to be received")
	})
}

func TestAMessageThatComesTwiceIsHandledTwice(t *testing.T) {
	t.Parallel()
	faulty(t, mem.Config{}, func(t *testing.T, tt *wherrytest.Test, b *mem.Broker) {
		b.Faults().Duplicate("orders", 1)
		in := wherrytest.Probe(tt, orders)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
		in.Publish(order{ID: 1}, order{ID: 2})
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 2, Handled: 3})
	})
}

func TestTwoMessagesOfOneIDAreTwo(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, tt *wherrytest.Test, _ wherry.PolicyOption) {
		in := wherrytest.Probe(tt, orders)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
		in.PublishWith(order{ID: 1}, wherry.WithID("same"))
		in.PublishWith(order{ID: 1}, wherry.WithID("same"))
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 2, Handled: 2})
	})
}

func TestASettlementThatFailsIsNotTheEnd(t *testing.T) {
	t.Parallel()
	faulty(t, mem.Config{}, func(t *testing.T, tt *wherrytest.Test, b *mem.Broker) {
		b.Faults().FailSettle("orders", 3)
		in := wherrytest.Probe(tt, orders)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
		in.Publish(order{ID: 1})
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 1, Handled: 1})
	})
}

func TestWhatIsRevokedInHandComesAgain(t *testing.T) {
	t.Parallel()
	faulty(t, mem.Config{}, func(t *testing.T, tt *wherrytest.Test, b *mem.Broker) {
		in := wherrytest.Probe(tt, orders)
		taken := 0
		rec := wherrytest.Record(func(ctx context.Context, _ *wherry.Message[order]) wherry.Outcome {
			taken++
			if taken == 1 {
				<-ctx.Done()
			}
			return wherry.Ack()
		})
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), rec.Handle))
		in.Publish(order{ID: 1})
		synctest.Wait()
		assert.Equal(t, b.Faults().Revoke("orders", 0), 1)
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 1, Handled: 1})
		assert.Equal(t, len(rec.Calls()), 2)
	})
}

func TestLeasesAreKept(t *testing.T) {
	t.Parallel()
	faulty(t, mem.Config{Lease: time.Second}, func(t *testing.T, tt *wherrytest.Test, _ *mem.Broker) {
		in := wherrytest.Probe(tt, orders)
		rec := wherrytest.Record(func(context.Context, *wherry.Message[order]) wherry.Outcome {
			time.Sleep(5 * time.Second)
			return wherry.Ack()
		})
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), rec.Handle))
		in.Publish(order{ID: 1})
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 1, Handled: 1})
		assert.Equal(t, len(rec.Calls()), 1)
		assert.Equal(t, rec.Calls()[0].Took, 5*time.Second)
	})
}

func TestAPublishThatMayHaveArrivedIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		text := failuresOf(t, func(tb testing.TB) {
			tt := wherrytest.New(tb, wherrytest.OnBroker(b))
			b.Faults().CutAfter("orders", -1)
			in := wherrytest.Probe(tt, orders)
			tb.Cleanup(func() { in.ExpectPublished(1) })
			in.PublishWith(order{ID: 1}, wherry.WithID("maybe"))
		})
		wants(t, text, "published 0, want 1", "maybe  perhaps published: ")
	})
}

// What the broker certainly has not got is not awaited, even where the books alone decide.
func TestAPublishThatFailedIsNotAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		tt := wherrytest.New(t, wherrytest.OnBroker(struct{ plain }{b}))
		b.Faults().RejectSize("orders", 1)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
		pub, err := wherry.NewPublisher(t.Context(), tt.Broker(), orders)
		assert.NoError(t, err)
		assert.ErrorIs(t, pub.Publish(t.Context(), &order{ID: 1}), wherry.ErrTooLarge)
		tt.Quiesce()
		assert.NoError(t, pub.Close(t.Context()))
		_ = tt.Stop()
	})
}
