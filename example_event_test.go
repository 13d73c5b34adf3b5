package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Events are types. A function sees those it asks for, and copies what it keeps.
func ExampleOnEvent() {
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
	count := func(e wherry.Event) {
		switch e := e.(type) {
		case *wherry.Started:
			fmt.Println("started", e.Topic)
		case *wherry.Handled:
			fmt.Println("handled", e.Outcome.Kind())
		case *wherry.Stopped:
			fmt.Println("stopped", e.Err)
		}
	}
	worker := wherry.Consume(wherry.Queue(broker, jobs),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			stop()
			return wherry.Ack()
		}, wherry.OnEvent(count), wherry.ExactTime())
	if err := worker.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// started jobs
	// handled ack
	// stopped <nil>
}

// LogTo writes what happens to a logger: never a payload, and nothing about messages that succeed.
func ExampleLogTo() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("secret"), wherry.WithID("job-1")); err != nil {
		panic(err)
	}
	noTime := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: noTime}))
	worker := wherry.Consume(wherry.Queue(broker, jobs),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			stop()
			return wherry.Reject(errors.New("no such job"))
		}, wherry.LogTo(logger))
	if err := worker.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// level=INFO msg="consumer started" consumer=jobs topic=jobs
	// level=WARN msg="message dead-lettered" consumer=jobs topic=jobs id=job-1 reason=rejected attempts=1 to=jobs.dlq error="no such job"
	// level=INFO msg="consumer stopped" consumer=jobs topic=jobs
}
