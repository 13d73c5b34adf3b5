package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A service is a topic, a handler, and Run until its context ends. A program ends it with signal.NotifyContext; here the
// handler does.
func ExampleConsume() {
	type Order struct {
		ID     int
		Amount int
	}
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.JSON[Order]{})

	publisher, err := wherry.NewPublisher(ctx, broker, orders)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, &Order{ID: 1, Amount: 250}); err != nil {
		panic(err)
	}

	billing := wherry.Consume(wherry.Queue(broker, orders),
		func(_ context.Context, m *wherry.Message[Order]) wherry.Outcome {
			fmt.Println("charge", m.Value.Amount, "for order", m.Value.ID)
			stop()
			return wherry.Ack()
		})
	if err := wherry.Run(ctx, billing); err != nil {
		panic(err)
	}
	// Output: charge 250 for order 1
}
