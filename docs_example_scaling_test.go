package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// docs/scaling.md shows a part of this.
func Example_docsScaling() {
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

	consumer := wherry.Consume(wherry.Queue(broker, calls), wherry.Func(call),
		wherry.Concurrency(16),
		wherry.WorkersBetween(1, 8,
			wherry.ScaleBy(wherry.BacklogScaler{Oldest: time.Minute}), // more workers too when a message waits for a minute
			wherry.ScaleCooldown(time.Minute)))                        // and a minute between two changes

	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output: hello
}
