package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A handler that is at work when the context of Run ends has the drain time, then its own context ends, and then it has
// the grace to return. One that does not is counted, and its message is left to the broker.
func ExampleDrainTime() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("stubborn")); err != nil {
		panic(err)
	}
	cause := make(chan error, 1)
	never := make(chan struct{})
	consumer := wherry.Consume(wherry.Queue(broker, jobs),
		func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome {
			stop()
			<-ctx.Done()
			cause <- context.Cause(ctx)
			<-never
			return wherry.Ack()
		},
		wherry.DrainTime(10*time.Millisecond), wherry.GraceTime(10*time.Millisecond))
	err = consumer.Run(ctx)
	close(never)

	fmt.Println(errors.Is(<-cause, wherry.ErrDraining))
	if left, ok := errors.AsType[*wherry.AbandonedError](err); ok {
		fmt.Println("handlers abandoned:", left.Handlers)
	}
	// Output:
	// true
	// handlers abandoned: 1
}
