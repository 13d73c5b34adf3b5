package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// counted is a middleware of one's own, as one option for both shapes of handler.
func counted(count func(n int)) wherry.ConsumerOption {
	return wherry.UseBoth(
		func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				defer count(1) // also when the handler panics
				return next(ctx, m)
			}
		},
		func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				defer count(b.Len())
				return next(ctx, b)
			}
		})
}

// A middleware for messages and one for batches are one option, that a router shares with consumers of both.
func ExampleUseBoth() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	orders, rows := wherry.NewTopic("orders", codec.Text{}), wherry.NewTopic("rows", codec.Text{})
	for _, topic := range []wherry.Topic[string]{orders, rows} {
		publisher, err := wherry.NewPublisher(ctx, broker, topic)
		if err != nil {
			panic(err)
		}
		if err := publisher.Publish(ctx, new("hello")); err != nil {
			panic(err)
		}
	}
	counts := make(chan int, 2)
	service := wherry.NewRouter("service",
		wherry.Share(counted(func(n int) { counts <- n })),
		wherry.Mount(
			wherry.Consume(wherry.Queue(broker, orders), func(context.Context, *wherry.Message[string]) wherry.Outcome {
				return wherry.Ack()
			}),
			wherry.ConsumeBatch(wherry.Queue(broker, rows), func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome {
				return wherry.Ack()
			}, wherry.BatchSize(1))))
	go func() {
		fmt.Println(<-counts + <-counts)
		stop()
	}()
	if err := service.Run(ctx); err != nil {
		panic(err)
	}
	// Output: 2
}
