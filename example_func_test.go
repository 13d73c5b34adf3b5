package wherry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Func makes a handler of a function that knows nothing of messages: nil acknowledges, an error retries, and one that was
// marked as permanent goes to the dead letters at once.
func ExampleFunc() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	names := wherry.NewTopic("names", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, names)
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"Ada", ""} {
		if err := publisher.Publish(ctx, &name); err != nil {
			panic(err)
		}
	}

	greet := func(_ context.Context, name string) error {
		if name == "" {
			return wherry.Permanent(errors.New("nobody to greet"))
		}
		fmt.Println("hello", name)
		return nil
	}
	greeter := wherry.Consume(wherry.Queue(broker, names), wherry.Func(greet),
		wherry.OnEvent(func(e wherry.Event) {
			if dead, ok := e.(*wherry.DeadLettered); ok {
				fmt.Println(dead.Reason, "after", dead.Attempts, "attempt:", dead.Err)
				stop()
			}
		}))
	if err := greeter.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// hello Ada
	// rejected after 1 attempt: nobody to greet
}

// Permanent keeps what it marks for errors.Is, however often it is wrapped.
func ExamplePermanent() {
	unknown := errors.New("no such customer")
	err := fmt.Errorf("charge: %w", wherry.Permanent(unknown))
	fmt.Println(err, wherry.IsPermanent(err), errors.Is(err, unknown))
	fmt.Println(wherry.Permanent(nil) == nil, wherry.IsPermanent(unknown))
	// Output:
	// charge: no such customer true true
	// true false
}
