package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// What README.md shows is the body of serve.
func Example_readme() {
	type Order struct{ ID, Amount int }
	ctx, stop := context.WithCancel(context.Background())
	charge := func(_ context.Context, o Order) error {
		fmt.Println("charged", o.Amount)
		stop()
		return nil
	}
	serve := func() error {
		orders := wherry.NewTopic("orders", codec.JSON[Order]{})
		broker := mem.New(mem.Config{})

		publisher, err := wherry.NewPublisher(ctx, broker, orders)
		if err != nil {
			return err
		}
		if err := publisher.Publish(ctx, &Order{ID: 1, Amount: 250}); err != nil {
			return err
		}
		billing := wherry.Consume(wherry.Queue(broker, orders), wherry.Func(charge), wherry.Concurrency(8))
		return wherry.Run(ctx, billing)
	}
	if err := serve(); err != nil {
		panic(err)
	}
	// Output: charged 250
}
