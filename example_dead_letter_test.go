package wherry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// DeadLetters is a topic of its own: typed, with what is known of the failure, and consumed like any other.
func ExampleDeadLetters() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, orders)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("order 1"), wherry.WithID("o-1")); err != nil {
		panic(err)
	}
	billing := wherry.Consume(wherry.Queue(broker, orders),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			return wherry.Reject(errors.New("unknown customer"))
		})
	undertaker := wherry.Consume(wherry.Queue(broker, wherry.DeadLetters(orders)),
		func(_ context.Context, m *wherry.Message[wherry.DeadLetter[string]]) wherry.Outcome {
			dead := m.Value
			fmt.Printf("%s in %s: %q was %s: %s\n", m.ID(), m.Topic(), dead.Value, dead.Reason, dead.LastError)
			stop()
			return wherry.Ack()
		})
	if err := wherry.Run(ctx, billing, undertaker); err != nil {
		panic(err)
	}
	// Output: o-1 in orders.dlq: "order 1" was rejected: unknown customer
}

// In a fan-out each group has dead letters of its own.
func ExampleGroupDeadLetters() {
	events := wherry.NewTopic("events", codec.Text{}, wherry.Fanout("billing", "audit"))
	fmt.Println(wherry.GroupDeadLetters(events, "billing").Name())
	// Output: events.billing.dlq
}

// Another name is given to the topic, so that DeadLetters and Redrive know it as well.
func ExampleDeadLetterTo() {
	orders := wherry.NewTopic("orders", codec.Text{}, wherry.DeadLetterTo("graveyard"))
	fmt.Println(wherry.DeadLetters(orders).Name())
	// Output: graveyard
}

// Without dead letters what is given up is lost, and says so in an event.
func ExampleNoDeadLetters() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	ticks := wherry.NewTopic("ticks", codec.Text{}, wherry.NoDeadLetters())
	publisher, err := wherry.NewPublisher(ctx, broker, ticks)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("tick")); err != nil {
		panic(err)
	}
	consumer := wherry.Consume(wherry.Queue(broker, ticks),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			return wherry.Reject(errors.New("too old"))
		},
		wherry.OnEvent(func(e wherry.Event) {
			if lost, ok := e.(*wherry.Dropped); ok {
				fmt.Println("lost:", lost.Reason, lost.Err)
				stop()
			}
		}))
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output: lost: rejected too old
}
