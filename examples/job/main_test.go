package main

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/wherrytest"
)

func Example() {
	main()
	// Output: invoices sent: 5
}

// What comes while a slow handler is at work is handled too, and the job ends when nothing more comes.
func TestTheJobEndsWhenNothingMoreComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		invoices := wherrytest.Probe(tt, Invoices)
		more, err := wherry.NewPublisher(t.Context(), tt.Broker(), Invoices)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		invoices.Publish(Invoice{0}, Invoice{1})
		err = handleWhatThereIs(t.Context(), tt.Broker(), time.Second, func(ctx context.Context, i Invoice) error {
			time.Sleep(10 * time.Second)
			if i.Number > 0 {
				return nil
			}
			return more.Publish(ctx, &Invoice{2})
		})
		if err != nil {
			t.Error(err)
		}
		invoices.Expect(wherrytest.Counts{Published: 3, Handled: 3})
		if took := time.Since(began); took < 20*time.Second || took > 22*time.Second {
			t.Errorf("took %v, want the handlers' time and a second", took)
		}
	})
}
