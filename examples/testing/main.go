// Command testing is a small service and, above all, its tests: see billing_test.go beside it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	broker := mem.New(mem.Config{})
	billing, err := NewBilling(ctx, broker, func(_ context.Context, o Order) error {
		fmt.Printf("charged %d for order %d\n", o.Amount, o.ID)
		stop() // there is but one order
		return nil
	})
	if err != nil {
		return err
	}
	orders, err := wherry.NewPublisher(ctx, broker, Orders)
	if err != nil {
		return err
	}
	if err := orders.Publish(ctx, &Order{ID: 1, Amount: 30}); err != nil {
		return err
	}
	return wherry.Run(ctx, billing)
}
