package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A message with a delay is not seen before its time, and holds up nobody until then.
func ExampleWithDelay() {
	const delay = 20 * time.Millisecond
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	reminders := wherry.NewTopic("reminders", codec.Text{})
	// The time of publishing is as exact as the system's clock, instead of up to 2 ms behind.
	publisher, err := wherry.NewPublisher(ctx, broker, reminders, wherry.ExactStamps(), wherry.PublishTimeout(time.Second))
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("later"), wherry.WithDelay(delay)); err != nil {
		panic(err)
	}
	consumer := wherry.Consume(wherry.Queue(broker, reminders),
		func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			fmt.Println("not before its time:", time.Since(m.Published()) >= delay)
			stop()
			return wherry.Ack()
		})
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output: not before its time: true
}
