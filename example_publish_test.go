package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Publish returns when the broker has the message. What a message carries beside its value is set by options.
func ExamplePublisher_Publish() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	notes := wherry.NewTopic("notes", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, notes)
	if err != nil {
		panic(err)
	}
	err = publisher.Publish(ctx, new("hello"),
		wherry.WithID("note-1"), wherry.WithKey([]byte("ada")), wherry.WithHeader("trace", "4bf92f35"))
	if err != nil {
		panic(err)
	}
	consumer := wherry.Consume(wherry.Queue(broker, notes),
		func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			fmt.Printf("%s: id %s, key %s, trace %s\n", m.Value, m.ID(), m.Key(), m.Headers().Get("trace"))
			stop()
			return wherry.Ack()
		})
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	if err := publisher.Close(context.Background()); err != nil {
		panic(err)
	}
	err = publisher.Publish(context.Background(), new("too late"))
	fmt.Println(errors.Is(err, wherry.ErrClosed), errors.Is(err, wherry.ErrNotSent))
	// Output:
	// hello: id note-1, key ada, trace 4bf92f35
	// true true
}

// PublishAll says what became of each value. Here the second is over the limit, and the others are at the broker.
func ExamplePublisher_PublishAll() {
	ctx := context.Background()
	broker := mem.New(mem.Config{})
	notes := wherry.NewTopic("notes", codec.Text{}, wherry.BodyLimit(8))
	publisher, err := wherry.NewPublisher(ctx, broker, notes)
	if err != nil {
		panic(err)
	}
	texts := []*string{new("short"), new("much too long"), new("brief")}
	err = publisher.PublishAll(ctx, slices.Values(texts))
	if each, ok := errors.AsType[*wherry.BatchError](err); ok {
		for i, err := range each.Errs {
			fmt.Printf("%s: not sent %t, too large %t\n", *texts[i], errors.Is(err, wherry.ErrNotSent), errors.Is(err, wherry.ErrTooLarge))
		}
	}
	// Output:
	// short: not sent false, too large false
	// much too long: not sent true, too large true
	// brief: not sent false, too large false
}
