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

// PeekDeadLetters shows what a redrive with the same options would move.
func ExamplePeekDeadLetters() {
	ctx, broker, orders := context.Background(), mem.New(mem.Config{}), rejectedOrders
	giveUp(ctx, broker, "order 1", "order 2", "order 3")
	for letter, err := range wherry.PeekDeadLetters(ctx, broker, orders, wherry.RedriveLimit(2)) {
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %s: %s\n", letter.Value.Value, letter.Value.Reason, letter.Value.LastError)
	}
	// Output:
	// order 1: rejected: unknown customer
	// order 2: rejected: unknown customer
}

// A function chooses among the dead letters, by what is known of the failure or by the message.
func ExampleRedriveIf() {
	ctx, broker, orders := context.Background(), mem.New(mem.Config{}), rejectedOrders
	giveUp(ctx, broker, "order 1", "order 2", "order 3")
	done, err := wherry.Redrive(ctx, broker, orders,
		wherry.RedriveIf(func(dead wherry.DeadLetterInfo, m wherry.AnyMessage) bool {
			return dead.LastError == "unknown customer" && string(m.Body()) != "order 2"
		}))
	fmt.Println(done.Moved, "moved,", done.Passed, "left there,", err)
	// Output: 2 moved, 1 left there, <nil>
}

// A rate keeps what comes back from running over what failed once.
func ExampleRedriveRate() {
	ctx, broker, orders := context.Background(), mem.New(mem.Config{}), rejectedOrders
	giveUp(ctx, broker, "order 1", "order 2", "order 3")
	done, err := wherry.Redrive(ctx, broker, orders, wherry.RedriveRate(100))
	fmt.Println(done.Moved, "moved,", err)
	// Output: 3 moved, <nil>
}

var rejectedOrders = wherry.NewTopic("orders", codec.Text{})

// giveUp publishes orders to a consumer that rejects them all.
func giveUp(ctx context.Context, broker *mem.Broker, texts ...string) {
	publisher, err := wherry.NewPublisher(ctx, broker, rejectedOrders)
	if err != nil {
		panic(err)
	}
	for _, text := range texts {
		if err := publisher.Publish(ctx, &text); err != nil {
			panic(err)
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	left := len(texts)
	err = wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, rejectedOrders),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			if left--; left == 0 {
				stop()
			}
			return wherry.Reject(errors.New("unknown customer"))
		}))
	if err != nil {
		panic(err)
	}
}
