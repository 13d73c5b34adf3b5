package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A handler's context ends at its timeout and says why. The outcome that the handler returns counts all the same.
func ExampleHandlerTimeout() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("slow")); err != nil {
		panic(err)
	}
	consumer := wherry.Consume(wherry.Queue(broker, jobs),
		func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
			if m.Attempt() == 1 {
				<-ctx.Done()
				fmt.Println(context.Cause(ctx))
				return wherry.RetryAfter(0, context.Cause(ctx))
			}
			fmt.Println("attempt", m.Attempt())
			stop()
			return wherry.Ack()
		}, wherry.HandlerTimeout(10*time.Millisecond))
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// wherry: handler timeout
	// attempt 2
}

// A handler without a timeout has a context without a deadline.
func ExampleNoHandlerTimeout() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("long")); err != nil {
		panic(err)
	}
	consumer := wherry.Consume(wherry.Queue(broker, jobs),
		func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome {
			_, bounded := ctx.Deadline()
			fmt.Println("has a deadline:", bounded)
			stop()
			return wherry.Ack()
		}, wherry.NoHandlerTimeout())
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output: has a deadline: false
}
