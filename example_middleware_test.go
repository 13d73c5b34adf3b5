package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A middleware wraps the way of every message. The first listed is the outermost: it sees a message first and its outcome
// last.
func ExampleUse() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	notes := wherry.NewTopic("notes", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, notes)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("hello")); err != nil {
		panic(err)
	}
	named := func(name string) wherry.Middleware {
		return func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				fmt.Println(name, "sees", string(m.Body()))
				o := next(ctx, m)
				fmt.Println(name, "sees", o)
				return o
			}
		}
	}
	consumer := wherry.Consume(wherry.Queue(broker, notes),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			fmt.Println("handler")
			stop()
			return wherry.Ack()
		}, wherry.Use(named("outer"), named("inner")))
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// outer sees hello
	// inner sees hello
	// handler
	// inner sees ack
	// outer sees ack
}
