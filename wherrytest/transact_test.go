package wherrytest_test

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
	"github.com/wherryhq/wherry/wherrytest"
)

// transacted runs body in a bubble, on a broker that knows its depths and on one that does not.
func transacted(t *testing.T, body func(t *testing.T, tt *wherrytest.Test, b *mem.Broker)) {
	t.Helper()
	for name, shown := range map[string]func(b *mem.Broker) driver.Broker{
		"queues":      func(b *mem.Broker) driver.Broker { return b },
		"books alone": func(b *mem.Broker) driver.Broker { return struct{ uncounted }{b} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := mem.New(mem.Config{Poison: true})
				defer b.Close(t.Context())
				tt := wherrytest.New(t, wherrytest.OnBroker(shown(b)))
				body(t, tt, b)
				if err := tt.Stop(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
					t.Error(err)
				}
			})
		})
	}
}

// billing publishes a receipt for each order in the order's transaction, and then does as fail.
func billing(tt *wherrytest.Test) *wherry.Consumer {
	out := wherry.NewTxPublisher(receipts)
	return wherry.Consume(wherry.Transacted(tt.Broker(), orders, wherry.Publishing(out)),
		func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			if err := out.Publish(ctx, &order{ID: m.Value.ID}, wherry.WithID("receipt of "+m.ID())); err != nil {
				return wherry.Retry(err)
			}
			return fail(ctx, m)
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{2 * time.Hour}}))
}

func TestTransactionsAreInTheBooks(t *testing.T) {
	t.Parallel()
	transacted(t, func(t *testing.T, tt *wherrytest.Test, _ *mem.Broker) {
		in, out := wherrytest.Probe(tt, orders), wherrytest.Probe(tt, receipts)
		rec := wherrytest.Record(fail)
		tt.Run(billing(tt), wherry.Consume(wherry.Queue(tt.Broker(), receipts), rec.Handle))
		in.Publish(order{ID: 1}, order{ID: 2, Bad: "once"}, order{ID: 3, Bad: "always"}, order{ID: 4, Bad: "reject"})
		tt.Quiesce()

		in.Expect(wherrytest.Counts{Published: 4, Handled: 2, Retried: 3, Dead: 2})
		out.Expect(wherrytest.Counts{Published: 2, Handled: 2})
		assert.Equal(t, len(rec.Values()), 2)
		assert.Equal(t, len(in.DeadLetters()), 2)
	})
}

// What was sent in a transaction that was not committed was not published, and what it received comes again.
func TestWhatWasNotCommittedWasNotPublished(t *testing.T) {
	t.Parallel()
	transacted(t, func(t *testing.T, tt *wherrytest.Test, b *mem.Broker) {
		b.Faults().FailSettle("orders", 2)
		in, out := wherrytest.Probe(tt, orders), wherrytest.Probe(tt, receipts)
		tt.Run(billing(tt), wherry.Consume(wherry.Queue(tt.Broker(), receipts), fail))
		in.PublishWith(order{ID: 1}, wherry.WithID("one"))
		tt.Quiesce()

		in.Expect(wherrytest.Counts{Published: 1, Handled: 1})
		out.Expect(wherrytest.Counts{Published: 1, Handled: 1})
		assert.Equal(t, len(out.Published()), 1)
		wants(t, wherrytest.StoryOf(tt, out), "receipt of one  not published: its transaction was not committed: ", "; published")
		wants(t, wherrytest.StoryOf(tt, in), "one  published; its transaction was not committed: ", "; handled at attempt 1")
	})
}

// Of a commit of which nothing is known both sides say so.
func TestACommitThatIsNotConfirmedIsTold(t *testing.T) {
	t.Parallel()
	transacted(t, func(t *testing.T, tt *wherrytest.Test, b *mem.Broker) {
		b.Faults().CutAfter("receipts", 1)
		in, out := wherrytest.Probe(tt, orders), wherrytest.Probe(tt, receipts)
		tt.Run(billing(tt))
		in.PublishWith(order{ID: 1}, wherry.WithID("one"))
		_ = tt.Wait(t.Context()) // where the books alone decide, what may come again is awaited
		wants(t, wherrytest.StoryOf(tt, out), "receipt of one  perhaps published: it is not known whether its transaction was committed")
		wants(t, wherrytest.StoryOf(tt, in), "one  published; it is not known whether its transaction was committed")
		in.ExpectHandled(0)
	})
}

// What a transaction cannot send aborts it; a copy that it cannot send does not, and is tried again.
func TestWhatATransactionCannotSendIsTold(t *testing.T) {
	t.Parallel()
	transacted(t, func(t *testing.T, tt *wherrytest.Test, b *mem.Broker) {
		b.Faults().FailSend("receipts", 1, errors.New("no such account"))
		b.Faults().FailSend("events.books.dlq", 1, errors.New("no such account"))
		out := wherry.NewTxPublisher(receipts)
		tt.Run(wherry.Consume(wherry.GroupTransacted(tt.Broker(), "books", events, wherry.Publishing(out)),
			func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
				if err := out.Publish(ctx, &m.Value, wherry.WithID("receipt of "+m.ID())); err != nil {
					return wherry.Retry(err)
				}
				return fail(ctx, m)
			}))
		in, sent := wherrytest.Probe(tt, events), wherrytest.Probe(tt, receipts)
		in.PublishWith(order{ID: 1}, wherry.WithID("one"))
		in.PublishWith(order{ID: 2, Bad: "reject"}, wherry.WithID("two"))
		tt.Quiesce()

		in.Group("books").Expect(wherrytest.Counts{Published: 2, Handled: 1, Dead: 1})
		sent.Expect(wherrytest.Counts{Published: 1})
		assert.Equal(t, wherrytest.StoryOf(tt, in.Group("books")),
			"\n  one  published; handled at attempt 1\n  two  published; dead, rejected: card declined")
		wants(t, wherrytest.StoryOf(tt, sent), "receipt of one  not published: ", "no such account; published")
	})
}

// What is received in a transaction is in hand until it is over, whatever the driver does beside it.
func TestATransactionThatIsLostComesAgain(t *testing.T) {
	t.Parallel()
	transacted(t, func(t *testing.T, tt *wherrytest.Test, b *mem.Broker) {
		in := wherrytest.Probe(tt, orders)
		taken := 0
		tt.Run(wherry.Consume(wherry.Transacted(tt.Broker(), orders),
			func(ctx context.Context, _ *wherry.Message[order]) wherry.Outcome {
				if taken++; taken == 1 {
					<-ctx.Done()
				}
				return wherry.Ack()
			}))
		in.Publish(order{ID: 1})
		synctest.Wait()
		assert.Equal(t, b.Faults().Revoke("orders", 0), 1)
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 1, Handled: 1})
		assert.Equal(t, taken, 2)
	})
}
