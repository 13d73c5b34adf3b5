package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// docs/tuning.md shows a part of this.
func Example_docsTuning() {
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
		wherry.Concurrency(64),                // the handler waits for others most of the time
		wherry.HandlerTimeout(10*time.Second), // and never longer than this
		wherry.Prefetch(128))                  // a few messages ahead of each handler

	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output: hello
}
