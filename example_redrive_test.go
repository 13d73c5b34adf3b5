package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Redrive moves dead letters back to where they failed, once the reason is mended. Of a fan-out it names the group, and
// nobody else sees them.
func ExampleRedrive() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	events := wherry.NewTopic("events", codec.Text{}, wherry.Fanout("billing"))
	publisher, err := wherry.NewPublisher(ctx, broker, events)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := publisher.Publish(ctx, &text); err != nil {
			panic(err)
		}
	}
	var mended atomic.Bool
	dead := make(chan struct{}, 2)
	billing := wherry.Consume(wherry.Group(broker, "billing", events),
		func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			if !mended.Load() {
				return wherry.Reject(errors.New("no such table"))
			}
			fmt.Println(m.Value, "at attempt", m.Attempt())
			return wherry.Ack()
		},
		wherry.OnEvent(func(e wherry.Event) {
			if _, ok := e.(*wherry.DeadLettered); ok {
				dead <- struct{}{}
			}
		}))
	done := make(chan error)
	go func() { done <- billing.Run(ctx) }()
	<-dead
	<-dead

	mended.Store(true)
	redriven, err := wherry.Redrive(ctx, broker, events,
		wherry.RedriveGroup("billing"), wherry.RedriveReason(wherry.ReasonRejected), wherry.RedriveLimit(2))
	if err != nil {
		panic(err)
	}
	stop()
	if err := <-done; err != nil {
		panic(err)
	}
	fmt.Println("moved", redriven.Moved)
	// Output:
	// one at attempt 1
	// two at attempt 1
	// moved 2
}
