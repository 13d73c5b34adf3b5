package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A service that turns one message into another does so in one act with settling the first.
func ExampleTransacted() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	names := wherry.NewTopic("names", codec.Text{})
	greetings := wherry.NewTopic("greetings", codec.Text{})

	greet := wherry.NewTxPublisher(greetings)
	consumer := wherry.Consume(
		wherry.Transacted(broker, names, wherry.Publishing(greet), wherry.TxAtMost(100, 50*time.Millisecond)),
		wherry.Func(func(ctx context.Context, name string) error {
			text := "hello " + name
			return greet.Publish(ctx, &text)
		}))
	reader := wherry.Consume(wherry.Queue(broker, greetings), wherry.Func(func(_ context.Context, text string) error {
		fmt.Println(text)
		stop()
		return nil
	}))

	publisher, err := wherry.NewPublisher(ctx, broker, names)
	if err != nil {
		panic(err)
	}
	name := "ann"
	if err := publisher.Publish(ctx, &name); err != nil {
		panic(err)
	}
	fmt.Println(wherry.Run(ctx, consumer, reader))
	// Output:
	// hello ann
	// <nil>
}

// A publisher of transactions has no other use.
func ExampleTxPublisher() {
	greet := wherry.NewTxPublisher(wherry.NewTopic("greetings", codec.Text{}))
	text := "hello"
	fmt.Println(greet.Publish(context.Background(), &text))
	// Output:
	// wherry: publish greetings: not sent: the context is not one of a handler in a transaction: publish with the context that the handler was called with
}

// Members of a group work in transactions too; other groups see the messages for themselves.
func ExampleGroupTransacted() {
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{}, wherry.Fanout("billing"))
	consumer := wherry.Consume(wherry.GroupTransacted(broker, "billing", orders),
		wherry.Func(func(context.Context, string) error { return nil }))
	fmt.Println(wherry.Explain(consumer).Consumers[0].Delivery.Level)
	// Output: transactional
}
