package wherry_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Health says what a consumer is doing, and why, when it is not what it should.
func ExampleConsumer_Health() {
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
	stuck := make(chan struct{})
	stalled := make(chan struct{})
	worker := wherry.Consume(wherry.Queue(broker, jobs),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			<-stuck
			return wherry.Ack()
		},
		wherry.Name("worker"), wherry.StallAfter(20*time.Millisecond), wherry.OnEvent(func(e wherry.Event) {
			if _, ok := e.(*wherry.Stalled); ok {
				close(stalled)
			}
		}))
	fmt.Println(worker.Name(), "is", worker.Health().State)

	done := make(chan error)
	go func() { done <- worker.Run(ctx) }()
	<-stalled
	h := worker.Health()
	fmt.Println(h.State, "ready", h.Ready, "in flight", h.InFlight)
	close(stuck)
	stop()
	if err := <-done; err != nil {
		panic(err)
	}
	h = worker.Health()
	fmt.Println(h.State, "handled", h.Handled)
	// Output:
	// worker is idle
	// stalled ready false in flight 1
	// stopped handled 1
}
