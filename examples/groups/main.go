// Command groups gives every order to two groups, each of which handles it in its own time.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Order is what travels.
type Order struct {
	ID    int `json:"id"`
	Cents int `json:"cents"`
}

// Orders go to each group that is named here, also before its first consumer runs.
var Orders = wherry.NewTopic("orders", codec.JSON[Order]{}, wherry.Fanout("billing", "audit"))

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Orders)
	if err != nil {
		return err
	}
	orders := []Order{{1, 1250}, {2, 800}}
	for _, o := range orders {
		if err := publisher.Publish(ctx, &o); err != nil {
			return err
		}
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var left sync.WaitGroup
	left.Add(2 * len(orders))
	go func() {
		left.Wait()
		stop()
	}()

	billing := wherry.Consume(wherry.Group(broker, "billing", Orders), wherry.Func(
		func(_ context.Context, o Order) error {
			fmt.Printf("billing: invoice of %d.%02d for order %d\n", o.Cents/100, o.Cents%100, o.ID)
			left.Done()
			return nil
		}))
	audit := wherry.Consume(wherry.Group(broker, "audit", Orders), wherry.Func(
		func(_ context.Context, o Order) error {
			fmt.Printf("audit: order %d was placed\n", o.ID)
			left.Done()
			return nil
		}))
	return wherry.Run(ctx, billing, audit)
}
