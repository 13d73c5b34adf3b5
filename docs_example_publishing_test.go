package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// docs/publishing.md shows parts of these.
func Example_docsPublishing() {
	type Order struct{ ID int }
	ctx := context.Background()
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.JSON[Order]{})

	publisher, err := wherry.NewPublisher(ctx, broker, orders)
	if err != nil {
		panic(err)
	}

	broker.Faults().CutAfter("orders", 1) // the broker has the message, and its confirm is lost

	order := Order{ID: 7}
	id := wherry.WithID("order-7")
	err = publisher.Publish(ctx, &order, id)
	if errors.Is(err, wherry.ErrUnconfirmed) {
		err = publisher.Publish(ctx, &order, id)
	}
	fmt.Println(err)

	err = publisher.Publish(ctx, &order,
		wherry.WithHeader("trace", "4bf92f35"),
		wherry.WithKey([]byte("customer-3")),
		wherry.WithDelay(5*time.Minute))
	fmt.Println(err)

	closing, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	err = publisher.Close(closing)
	fmt.Println(err)
	// Output:
	// <nil>
	// <nil>
	// <nil>
}

func Example_docsPublishAll() {
	type Order struct{ ID int }
	ctx := context.Background()
	broker := mem.New(mem.Config{})
	topic := wherry.NewTopic("orders", codec.JSON[Order]{})
	publisher, err := wherry.NewPublisher(ctx, broker, topic)
	if err != nil {
		panic(err)
	}
	broker.Faults().FailSend("orders", 1, nil)
	orders := []*Order{{ID: 1}, {ID: 2}, {ID: 3}}

	err = publisher.PublishAll(ctx, slices.Values(orders))
	if each, ok := errors.AsType[*wherry.BatchError](err); ok {
		for i, err := range each.Errs {
			if err != nil {
				fmt.Println("order", orders[i].ID, "is not sent:", errors.Is(err, wherry.ErrNotSent))
			}
		}
	}

	placed := []Order{{ID: 4}, {ID: 5}}
	err = publisher.PublishAll(ctx, func(yield func(*Order) bool) {
		for i := range placed {
			if !yield(&placed[i]) {
				return
			}
		}
	})
	fmt.Println(err)
	// Output:
	// order 1 is not sent: true
	// <nil>
}
