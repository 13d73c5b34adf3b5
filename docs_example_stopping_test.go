package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"syscall"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// docs/stopping.md shows parts of this.
func Example_docsStopping() {
	broker := mem.New(mem.Config{})
	jobs := wherry.NewTopic("jobs", codec.Text{})

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	work := func(_ context.Context, job string) error {
		fmt.Println("done:", job)
		stop() // as a signal does
		return nil
	}
	publisher, err := wherry.NewPublisher(ctx, broker, jobs)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("job 1")); err != nil {
		panic(err)
	}

	consumer := wherry.Consume(wherry.Queue(broker, jobs), wherry.Func(work),
		wherry.DrainTime(20*time.Second), wherry.GraceTime(2*time.Second))

	err = wherry.Run(ctx, consumer)
	if left, ok := errors.AsType[*wherry.AbandonedError](err); ok {
		fmt.Println("left undone:", left.Handlers, "handlers,", left.Left, "messages")
	}
	// In this order: whoever consumes has stopped, and nothing publishes any more.
	closing, done := context.WithTimeout(context.Background(), 5*time.Second)
	defer done()
	err = errors.Join(err, publisher.Close(closing), broker.Close(closing))
	fmt.Println(err)
	// Output:
	// done: job 1
	// <nil>
}
