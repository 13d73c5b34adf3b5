package main

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

func Example() {
	main()
	// Output: booked 2 movements, which come to 0
}

// booked is a book that takes everything.
func booked(context.Context, Movement) error { return nil }

// adaIsClosed is a book that takes movements of ada only once she is open.
func adaIsClosed() (book Book, open *atomic.Bool) {
	open = new(atomic.Bool)
	return func(_ context.Context, m Movement) error {
		if m.Account == "ada" && !open.Load() {
			return errors.New("the account is closed")
		}
		return nil
	}, open
}

func TestAnOrderBecomesTwoMovements(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	orders, movements := wherrytest.Probe(tt, Orders), wherrytest.Probe(tt, Movements)
	tt.Run(NewBank(tt.Broker(), booked).Consumers()...)

	orders.Publish(Order{From: "ada", To: "bob", Amount: 30, Currency: "EUR"})
	tt.Quiesce()

	orders.Expect(wherrytest.Counts{Published: 1, Handled: 1})
	movements.Expect(wherrytest.Counts{Published: 2, Handled: 2})
	if got := movements.PublishedValues(); !slices.Equal(got, []Movement{{"ada", -30}, {"bob", 30}}) {
		t.Errorf("movements %v", got)
	}
}

// The broker refuses two commits. What the bank published in them was not published, and the order comes again.
func TestAnOrderIsClearedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broker := mem.New(mem.Config{})
		t.Cleanup(func() { broker.Close(context.WithoutCancel(t.Context())) })
		tt := wherrytest.New(t, wherrytest.OnBroker(broker))
		orders, movements := wherrytest.Probe(tt, Orders), wherrytest.Probe(tt, Movements)
		broker.Faults().FailSettle(Orders.Name(), 2)
		tt.Run(NewBank(tt.Broker(), booked).Consumers()...)

		orders.Publish(Order{From: "ada", To: "bob", Amount: 30, Currency: "EUR"})
		tt.Quiesce()

		orders.ExpectHandled(1)
		movements.Expect(wherrytest.Counts{Published: 2, Handled: 2})
	})
}

// Every process hears of a rate. An order in a currency without one is tried again until there is one.
func TestEveryProcessHearsOfRates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		orders, rates := wherrytest.Probe(tt, Orders), wherrytest.Probe(tt, Rates)
		first, second := NewBank(tt.Broker(), booked), NewBank(tt.Broker(), booked)
		tt.Run(slices.Concat(first.Consumers(), second.Consumers())...)

		orders.Publish(Order{From: "ada", To: "bob", Amount: 30, Currency: "SEK"})
		tt.Until(func() bool { return orders.Counts().Retried == 1 })
		rates.Publish(Rate{Currency: "SEK", Worth: 11}, Rate{Currency: "SEK"})
		tt.Quiesce()

		orders.Expect(wherrytest.Counts{Published: 1, Handled: 1, Retried: 1})
		rates.Expect(wherrytest.Counts{Published: 2, Handled: 2, Dropped: 2})
		if first.Worth("SEK") != 11 || second.Worth("SEK") != 11 {
			t.Errorf("worth %d and %d, want 11", first.Worth("SEK"), second.Worth("SEK"))
		}
	})
}

// While an account waits for its next attempt others go on, and its own movements stay in order.
func TestAMovementThatFailsHoldsUpItsAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		movements := wherrytest.Probe(tt, Movements)
		book, open := adaIsClosed()
		tt.Run(NewBank(tt.Broker(), book).Consumers()...)

		began := time.Now()
		movements.Publish(Movement{"ada", 1}, Movement{"ada", 2}, Movement{"bob", 1})
		tt.Until(func() bool { return movements.Counts() == wherrytest.Counts{Published: 3, Handled: 1, Retried: 1} })

		open.Store(true)
		tt.Quiesce()
		movements.Expect(wherrytest.Counts{Published: 3, Handled: 3, Retried: 1})
		movements.ExpectInOrder()
		if took := time.Since(began); took < time.Minute {
			t.Errorf("done after %v, want the delay of the policy", took)
		}
	})
}

// An account whose movement cannot be booked is set aside, and goes on in order when it is redriven.
func TestAnAccountIsParkedAndRedriven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		movements := wherrytest.Probe(tt, Movements)
		book, open := adaIsClosed()
		tt.Run(NewBank(tt.Broker(), book).Consumers()...)

		movements.Publish(Movement{"ada", 1}, Movement{"bob", 1}, Movement{"ada", 2})
		tt.Quiesce()
		movements.Expect(wherrytest.Counts{Published: 3, Handled: 1, Retried: 2, Dead: 2})
		var reasons []wherry.Reason
		for _, m := range movements.DeadLetters() {
			reasons = append(reasons, m.Value.Reason)
		}
		if !slices.Equal(reasons, []wherry.Reason{wherry.ReasonExhausted, wherry.ReasonParked}) {
			t.Errorf("dead letters %v, want the failed one and the one behind it", reasons)
		}

		open.Store(true)
		if _, err := wherry.Redrive(t.Context(), tt.Broker(), Movements); err != nil {
			t.Fatal(err)
		}
		tt.Quiesce()
		movements.Expect(wherrytest.Counts{Published: 3, Handled: 3, Retried: 2, Dead: 2})
		movements.ExpectInOrder()
	})
}
