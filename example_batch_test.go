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

// A batch is full by number, by bytes, or when its first message has waited long enough. The outcome that the handler
// returns is that of every message which it did not set.
func ExampleConsumeBatch() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	rows := wherry.NewTopic("rows", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, rows)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"a", "b", "bad", "d"} {
		if err := publisher.Publish(ctx, &text); err != nil {
			panic(err)
		}
	}
	insert := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
		var values []string
		for i, m := range b.All() {
			if m.Value == "bad" {
				b.Set(i, wherry.Reject(errors.New("no such column")))
				continue
			}
			values = append(values, m.Value)
		}
		fmt.Println("insert", values)
		stop()
		return wherry.Ack()
	}
	consumer := wherry.ConsumeBatch(wherry.Queue(broker, rows), insert,
		wherry.BatchSize(3), wherry.BatchBytes(1<<20), wherry.BatchAge(5*time.Millisecond))
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// insert [a b]
	// insert [d]
}

// A middleware of batches may give messages their outcome before the handler sees them.
func ExampleUseBatch() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	rows := wherry.NewTopic("rows", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, rows)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"a", "", "c"} {
		if err := publisher.Publish(ctx, &text); err != nil {
			panic(err)
		}
	}
	skipEmpty := func(next wherry.BatchNext) wherry.BatchNext {
		return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
			for i := b.Len() - 1; i >= 0; i-- {
				if len(b.At(i).Body()) == 0 {
					b.Skip(i, wherry.Ack())
				}
			}
			return next(ctx, b)
		}
	}
	insert := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
		for value := range b.Values() {
			fmt.Println("insert", value)
		}
		stop()
		return wherry.Ack()
	}
	consumer := wherry.ConsumeBatch(wherry.Queue(broker, rows), insert, wherry.BatchSize(3), wherry.UseBatch(skipEmpty))
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// insert a
	// insert c
}
