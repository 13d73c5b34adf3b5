package wherrytest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/wherrytest"
)

// A transfer belongs to an account, and those of an account are in order.
type transfer struct {
	Account string
	Amount  int
}

var transfers = wherry.NewKeyedTopic("transfers", codec.JSON[transfer]{},
	func(dst []byte, t *transfer) []byte { return append(dst, t.Account...) })

// What fails in a sequence is tried again while the later ones of its key wait.
func ExampleTopicProbe_ExpectInOrder() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, transfers)
	rec := wherrytest.Record(func(_ context.Context, m *wherry.Message[transfer]) wherry.Outcome {
		if m.Value.Amount == 10 && m.Attempt() == 1 {
			return wherry.RetryAfter(time.Millisecond, errors.New("the ledger is busy"))
		}
		return wherry.Ack()
	})
	tt.Run(wherry.Consume(wherry.Sequence(tt.Broker(), transfers), rec.Handle, wherry.Concurrency(4)))

	in.Publish(transfer{"ada", 10}, transfer{"ada", 20}, transfer{"ada", 30})
	tt.Quiesce()

	in.Expect(wherrytest.Counts{Published: 3, Handled: 3, Retried: 1})
	in.ExpectInOrder()
	for _, v := range rec.Values() {
		fmt.Println(v.Account, v.Amount)
	}
	// Output:
	// ada 10
	// ada 20
	// ada 30
}

var quotes = wherry.NewTopic("quotes", codec.JSON[int]{}, wherry.Fanout("billing"))

// Each reader of a broadcast, and each group, has a story of its own.
func ExampleTopicProbe_Reader() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, quotes)
	refuse := func(context.Context, int) error { return wherry.Permanent(errors.New("no such share")) }
	accept := func(context.Context, int) error { return nil }
	tt.Run(
		wherry.Consume(wherry.Group(tt.Broker(), "billing", quotes), wherry.Func(accept)),
		wherry.Consume(wherry.Broadcast(tt.Broker(), quotes), wherry.Func(refuse), wherry.Name("cache")),
	)

	in.Publish(7)
	tt.Quiesce()

	in.Group("billing").Expect(wherrytest.Counts{Published: 1, Handled: 1})
	in.Reader("cache").Expect(wherrytest.Counts{Published: 1, Dropped: 1})
	fmt.Printf("%+v\n", in.Counts())
	// Output: {Published:1 Handled:1 Retried:0 Deferred:0 Dead:0 Dropped:1}
}

// What handlers publish in a transaction is published when the transaction was committed, and not before.
func ExampleTest_Broker() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in, out := wherrytest.Probe(tt, payments), wherrytest.Probe(tt, transfers)
	booked := wherry.NewTxPublisher(transfers)
	tt.Run(wherry.Consume(wherry.Transacted(tt.Broker(), payments, wherry.Publishing(booked)), wherry.Func(
		func(ctx context.Context, p payment) error {
			if err := booked.Publish(ctx, &transfer{"ada", p.Amount}); err != nil {
				return err
			}
			return book(ctx, p)
		})))

	in.Publish(payment{ID: 1, Amount: 30}, payment{ID: 2})
	tt.Quiesce()

	in.Expect(wherrytest.Counts{Published: 2, Handled: 1, Dead: 1})
	for _, p := range out.Published() {
		fmt.Println(p.Value.Account, p.Value.Amount)
	}
	// Output: ada 30
}
