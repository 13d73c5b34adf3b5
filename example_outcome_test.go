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

// Every message ends in one of these. The zero Outcome is a retry, so that what was forgotten is never lost.
func ExampleOutcome() {
	away := errors.New("bank away")
	for _, o := range []wherry.Outcome{
		wherry.Ack(), wherry.Retry(away), wherry.RetryAfter(time.Second, away), wherry.Defer(time.Minute),
		wherry.Reject(errors.New("no such order")),
		{},
	} {
		fmt.Println(o)
	}
	// Output:
	// ack
	// retry: bank away
	// retry after 1s: bank away
	// defer after 1m0s
	// reject: no such order
	// retry
}

// A message that is deferred comes again with the same attempt number. One that is retried has failed once more.
func ExampleDefer() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("report")); err != nil {
		panic(err)
	}
	calls := 0
	consumer := wherry.Consume(wherry.Queue(broker, jobs),
		func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			calls++
			fmt.Println("call", calls, "is attempt", m.Attempt())
			switch calls {
			case 1:
				return wherry.Defer(100 * time.Millisecond) // not ready yet
			case 2:
				return wherry.RetryAfter(time.Millisecond, errors.New("failed"))
			}
			stop()
			return wherry.Ack()
		})
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// call 1 is attempt 1
	// call 2 is attempt 1
	// call 3 is attempt 2
}
