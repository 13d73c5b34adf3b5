package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

func Example() {
	main()
	// Output: charged 30 for order 1
}

// paid is a bank that pays.
func paid(context.Context, Order) error { return nil }

// start runs the service with a bank.
func start(t *testing.T, tt *wherrytest.Test, charge Charge) {
	t.Helper()
	b, err := NewBilling(t.Context(), tt.Broker(), charge)
	if err != nil {
		t.Fatal(err)
	}
	tt.Run(b)
}

func TestOrdersGetReceipts(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	orders, receipts := wherrytest.Probe(tt, Orders), wherrytest.Probe(tt, Receipts)
	start(t, tt, paid)

	orders.Publish(Order{ID: 1, Amount: 30}, Order{ID: 2})
	tt.Quiesce()

	orders.Expect(wherrytest.Counts{Published: 2, Handled: 1, Dead: 1})
	if got := receipts.PublishedValues(); !slices.Equal(got, []Receipt{{Order: 1}}) {
		t.Errorf("receipts %v, want one for order 1", got)
	}
	for _, m := range orders.DeadLetters() { // of which there is one, by the counts
		if m.Value.Value.ID != 2 || m.Value.Reason != wherry.ReasonRejected {
			t.Errorf("dead letter %+v, want order 2, rejected", m.Value)
		}
	}
}

// Inside a bubble the clock is virtual: the two hours that this waits for take no time.
func TestABankThatIsDownIsAskedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		orders := wherrytest.Probe(tt, Orders)
		var calls []time.Time
		start(t, tt, func(context.Context, Order) error {
			calls = append(calls, time.Now())
			if len(calls) < 4 {
				return errors.New("the bank does not answer")
			}
			return nil
		})

		orders.Publish(Order{ID: 1, Amount: 30})
		tt.Quiesce()

		orders.Expect(wherrytest.Counts{Published: 1, Handled: 1, Retried: 3})
		if took := calls[3].Sub(calls[0]); took < 2*time.Hour+time.Minute {
			t.Errorf("asked for the fourth time after %v, want the policy's delays", took)
		}
	})
}

// The same test runs on every broker that the service is for.
func TestOnEveryBroker(t *testing.T) {
	t.Parallel()
	brokers := map[string]func() driver.Broker{
		"in process":        func() driver.Broker { return mem.New(mem.Config{}) },
		"that cannot delay": func() driver.Broker { return mem.New(mem.Config{Weak: mem.Weak{NoHold: true}}) },
	}
	for name, dial := range brokers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broker := dial()
			t.Cleanup(func() { broker.Close(context.WithoutCancel(t.Context())) })
			tt := wherrytest.New(t, wherrytest.OnBroker(broker))
			orders, receipts := wherrytest.Probe(tt, Orders), wherrytest.Probe(tt, Receipts)
			start(t, tt, paid)

			for id := range 3 {
				orders.Publish(Order{ID: id, Amount: 1})
			}
			tt.Quiesce()

			orders.ExpectHandled(3)
			if got := receipts.PublishedValues(); !slices.Equal(got, []Receipt{{0}, {1}, {2}}) {
				t.Errorf("receipts %v", got)
			}
		})
	}
}
