package wherry_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// docs/consuming.md shows a part of this: a loop that handles what there is.
func Example_docsConsumingWhatThereIs() {
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	ctx := context.Background()
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	if err := publisher.PublishAll(ctx, slices.Values([]*string{new("sweep"), new("mop")})); err != nil {
		panic(err)
	}
	fmt.Println(whatThereIs(ctx, broker, jobs, 50*time.Millisecond, func(_ context.Context, job string) error {
		fmt.Println(job)
		return nil
	}))
	// Output:
	// sweep
	// mop
	// <nil>
}

func whatThereIs(
	ctx context.Context, broker *mem.Broker, jobs wherry.Topic[string], patience time.Duration,
	work func(context.Context, string) error,
) error {
	until, stop := context.WithCancel(ctx)
	defer stop()
	quiet := time.AfterFunc(patience, stop)
	for m, err := range wherry.Pull(until, wherry.Queue(broker, jobs)) {
		if err != nil {
			return err
		}
		quiet.Stop() // a job may take longer
		m.Settle(outcomeOf(work(ctx, m.Value)))
		quiet.Reset(patience)
	}
	return nil
}

func outcomeOf(err error) wherry.Outcome {
	if err != nil {
		return wherry.Retry(err)
	}
	return wherry.Ack()
}
