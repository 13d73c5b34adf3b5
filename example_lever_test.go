package wherry_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Two workers with two handlers in flight each: four handlers meet, which is what each of them waits for.
func ExampleWorkers() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	const together = 4
	for range together {
		if err := publisher.Publish(ctx, new("job")); err != nil {
			panic(err)
		}
	}
	var all sync.WaitGroup
	all.Add(together)
	worker := wherry.Consume(wherry.Queue(broker, jobs),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			all.Done()
			all.Wait()
			stop()
			return wherry.Ack()
		},
		wherry.Workers(2), wherry.Concurrency(2), wherry.Prefetch(2), wherry.MaxDelivered(5))
	if err := worker.Run(ctx); err != nil {
		panic(err)
	}
	fmt.Println(worker.Health().Handled, "at once")
	// Output: 4 at once
}
