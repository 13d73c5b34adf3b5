package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A paused consumer starts on no message until it is resumed. It stays ready, and its health says why it is paused.
func ExampleConsumer_Pause() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("a")); err != nil {
		panic(err)
	}
	started := make(chan struct{})
	worker := wherry.Consume(wherry.Queue(broker, jobs),
		func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			fmt.Println("handled", m.Value)
			stop()
			return wherry.Ack()
		},
		wherry.OnEvent(func(e wherry.Event) {
			if _, ok := e.(*wherry.Started); ok {
				close(started)
			}
		}))
	resume := worker.Pause("stock-taking")
	worker.PauseFor(time.Millisecond, "short of breath") // ends by itself

	done := make(chan error)
	go func() { done <- worker.Run(ctx) }()
	<-started
	resume()
	if err := <-done; err != nil {
		panic(err)
	}
	// Output: handled a
}
