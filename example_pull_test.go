package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Pull is a loop instead of a handler. What the loop does not settle is released and comes again, uncounted.
func ExamplePull() {
	ctx := context.Background()
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"one", "two"} {
		if err := publisher.Publish(ctx, &text); err != nil {
			panic(err)
		}
	}
	done := 0
	for m, err := range wherry.Pull(ctx, wherry.Queue(broker, jobs)) {
		if err != nil {
			panic(err)
		}
		fmt.Println(m.Value)
		m.Settle(wherry.Ack())
		if done++; done == 2 {
			break
		}
	}
	// Output:
	// one
	// two
}
