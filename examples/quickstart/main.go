// Command quickstart publishes orders, handles them, and stops without losing one.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Order is what travels.
type Order struct {
	ID   int    `json:"id"`
	Item string `json:"item"`
}

// Orders is declared once and used by publishers and consumers.
var Orders = wherry.NewTopic("orders", codec.JSON[Order]{})

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Orders)
	if err != nil {
		return err
	}
	items := []string{"lamp", "chair", "desk"}
	for i, item := range items {
		if err := publisher.Publish(ctx, &Order{ID: i + 1, Item: item}); err != nil {
			return err
		}
	}

	shipping := wherry.Consume(wherry.Queue(broker, Orders), wherry.Func(
		func(_ context.Context, o Order) error {
			fmt.Printf("shipped order %d: %s\n", o.ID, o.Item)
			if o.ID == len(items) {
				stop() // what Ctrl-C does in a service that has no last order
			}
			return nil
		}))

	// Run returns when ctx has ended and everything in hand is handled and settled.
	if err := wherry.Run(ctx, shipping); err != nil {
		return err
	}
	fmt.Println("stopped, nothing left behind")

	// Run leaves open what it did not open.
	closing := context.WithoutCancel(ctx)
	return errors.Join(publisher.Close(closing), broker.Close(closing))
}
