package middleware_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

// A consumer of up to 64 calls at once, fewer while what they call has enough of them. docs/scaling.md shows a part of this.
func ExampleAdaptiveLimit() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	calls := wherry.NewTopic("calls", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, calls)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("hello")); err != nil {
		panic(err)
	}
	call := func(_ context.Context, text string) error {
		fmt.Println(text)
		stop()
		return nil
	}

	limit := middleware.NewAdaptiveLimit(middleware.AdaptiveConfig{Max: 64})
	consumer := wherry.Consume(wherry.Queue(broker, calls), wherry.Func(call),
		limit.Option(), wherry.Concurrency(64))

	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	fmt.Println(limit.Limit(), "at once, measuring", limit.State().Measuring)
	// Output:
	// hello
	// 4 at once, measuring true
}
