package wherry_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A keyed topic makes the key of each message from its value.
func ExampleNewKeyedTopic() {
	type Order struct {
		ID       int
		Customer string
	}
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	orders := wherry.NewKeyedTopic("orders", codec.JSON[Order]{},
		func(dst []byte, o *Order) []byte { return append(dst, o.Customer...) })

	publisher, err := wherry.NewPublisher(ctx, broker, orders)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, &Order{ID: 7, Customer: "ada"}); err != nil {
		panic(err)
	}
	consumer := wherry.Consume(wherry.Queue(broker, orders),
		func(_ context.Context, m *wherry.Message[Order]) wherry.Outcome {
			fmt.Printf("key %s, body %s\n", m.Key(), m.Body())
			stop()
			return wherry.Ack()
		})
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output: key ada, body {"ID":7,"Customer":"ada"}
}

// A fan-out gives every message to each of its groups. The groups that are named with the topic exist from the first
// publish on, even if their first consumer comes later.
func ExampleFanout() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	events := wherry.NewTopic("events", codec.Text{}, wherry.Fanout("billing", "audit"))

	publisher, err := wherry.NewPublisher(ctx, broker, events)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("order 1 was paid")); err != nil {
		panic(err)
	}
	var groups atomic.Int32
	show := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		fmt.Println(m.Group(), "sees:", m.Value)
		if groups.Add(1) == 2 {
			stop()
		}
		return wherry.Ack()
	}
	err = wherry.Run(ctx,
		wherry.Consume(wherry.Group(broker, "billing", events), show),
		wherry.Consume(wherry.Group(broker, "audit", events), show))
	if err != nil {
		panic(err)
	}
	// Unordered output:
	// billing sees: order 1 was paid
	// audit sees: order 1 was paid
}
