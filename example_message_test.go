package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// What a handler sees beside the value. It is valid until the handler returns.
func ExampleMessage() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	notes := wherry.NewTopic("notes", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, notes)
	if err != nil {
		panic(err)
	}
	err = publisher.Publish(ctx, new("hello"), wherry.WithID("n-1"),
		wherry.WithHeader("tag", "red"), wherry.WithHeader("tag", "blue"))
	if err != nil {
		panic(err)
	}
	reader := wherry.Consume(wherry.Queue(broker, notes),
		func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			fmt.Println(m.ID(), m.Topic(), m.ContentType())
			fmt.Println("attempt", m.Attempt(), "delivered", m.Delivered(), "published", !m.Published().IsZero())
			for key, value := range m.Headers().All() {
				fmt.Println(key, value)
			}
			stop()
			return wherry.Ack()
		})
	if err := reader.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// n-1 notes text/plain; charset=utf-8
	// attempt 1 delivered 1 published true
	// tag red
	// tag blue
}

// A clone is the handler's own, with all that belongs to it.
func ExampleMessage_Clone() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	notes := wherry.NewTopic("notes", codec.BytesView{})
	publisher, err := wherry.NewPublisher(ctx, broker, notes)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"first", "second"} {
		if err := publisher.Publish(ctx, new([]byte(text))); err != nil {
			panic(err)
		}
	}
	var kept []*wherry.Message[[]byte]
	reader := wherry.Consume(wherry.Queue(broker, notes),
		func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
			kept = append(kept, m.Clone()) // m.Value itself is the delivery's memory
			stop()
			return wherry.Ack()
		})
	if err := reader.Run(ctx); err != nil {
		panic(err)
	}
	for _, m := range kept {
		fmt.Printf("%s %s\n", m.Value, m.Body())
	}
	// Output:
	// first first
	// second second
}
