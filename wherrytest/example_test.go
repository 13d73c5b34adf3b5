package wherrytest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/wherrytest"
)

// A payment is what these examples are about.
type payment struct {
	ID     int
	Amount int
}

var payments = wherry.NewTopic("payments", codec.JSON[payment]{})

// book refuses what makes no sense.
func book(_ context.Context, p payment) error {
	if p.Amount <= 0 {
		return wherry.Permanent(errors.New("nothing to book"))
	}
	return nil
}

// In a test, t is its *testing.T.
func Example() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, payments)
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), payments), wherry.Func(book)))

	in.Publish(payment{ID: 1, Amount: 30}, payment{ID: 2})
	tt.Quiesce()

	in.Expect(wherrytest.Counts{Published: 2, Handled: 1, Dead: 1})
	for _, m := range in.DeadLetters() {
		fmt.Println(m.Value.Value.ID, m.Value.Reason, m.Value.LastError)
	}
	// Output: 2 rejected nothing to book
}

// A failed expectation tells the story of each message.
func ExampleTopicProbe_Expect() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, payments)
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), payments), wherry.Func(book)))

	in.PublishWith(payment{ID: 1}, wherry.WithID("p-1"))
	tt.Quiesce()
	in.Expect(wherrytest.Counts{Published: 1, Handled: 1})
	// Output:
	// wherrytest: payments: handled 0, want 1; dead 1, want 0
	//   p-1  published; dead, rejected: nothing to book
}

// Published has what anybody published on the test's broker, handlers too.
func ExampleTopicProbe_Published() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, payments)
	in.PublishWith(payment{ID: 1, Amount: 30}, wherry.WithHeader("tenant", "north"))

	for _, p := range in.Published() {
		fmt.Println(p.Value.Amount, p.Headers.Get("tenant"))
	}
	// Output: 30 north
}

// PublishedValues is for a comparison with what is wanted: a loop over what was published passes where nothing was.
func ExampleTopicProbe_PublishedValues() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, payments)
	in.Publish(payment{ID: 1, Amount: 30}, payment{ID: 2})

	fmt.Println(slices.Equal(in.PublishedValues(), []payment{{1, 30}, {2, 0}}))
	// Output: true
}

// A recorder keeps every call with a copy of its message.
func ExampleRecord() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, payments)
	rec := wherrytest.Record(func(_ context.Context, m *wherry.Message[payment]) wherry.Outcome {
		if m.Attempt() == 1 {
			return wherry.RetryAfter(time.Millisecond, errors.New("the ledger is busy"))
		}
		return wherry.Ack()
	})
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), payments), rec.Handle))

	in.Publish(payment{ID: 1, Amount: 30})
	tt.Quiesce()

	for _, c := range rec.Calls() {
		fmt.Println(c.Attempt(), c.Value.Amount, c.Outcome)
	}
	// Output:
	// 1 30 retry after 1ms: the ledger is busy
	// 2 30 ack
}

// A recorder of batches has one entry per call of the handler.
func ExampleRecordBatch() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, payments)
	rec := wherrytest.RecordBatch[payment](nil)
	in.Publish(payment{ID: 1}, payment{ID: 2}, payment{ID: 3})
	tt.Run(wherry.ConsumeBatch(wherry.Queue(tt.Broker(), payments), rec.Handle, wherry.BatchSize(3)))
	tt.Quiesce()

	for _, batch := range rec.Calls() {
		fmt.Println(len(batch), "messages")
	}
	// Output: 3 messages
}

// Until waits for a state on the way, outside of bubbles too.
func ExampleTest_Until() {
	t, end := exampleTest()
	defer end()

	tt := wherrytest.New(t, wherrytest.LeaveUndone())
	in := wherrytest.Probe(tt, payments)
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), payments), wherry.Func(
		func(context.Context, payment) error { return errors.New("the ledger is closed until tomorrow") }),
		wherry.RetryWith(wherry.RetryPolicy{Delays: []time.Duration{24 * time.Hour}})))

	in.Publish(payment{ID: 1, Amount: 30})
	tt.Until(func() bool { return in.Counts().Retried == 1 })
	fmt.Printf("%+v\n", in.Counts())
	// Output: {Published:1 Handled:0 Retried:1 Deferred:0 Dead:0 Dropped:0}
}
