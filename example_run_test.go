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

// A clock is a Runner of the user's own: it publishes until its context ends.
type clock struct {
	publisher *wherry.Publisher[string]
}

func (c clock) Run(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := c.publisher.Publish(ctx, new("tick")); err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// Run starts consumers, and whatever else has a Run method, together and ends them together. What was published is
// handled before it returns, since this broker forgets at exit.
func ExampleRun() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	ticks := wherry.NewTopic("ticks", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, ticks)
	if err != nil {
		panic(err)
	}
	seen := 0
	counter := wherry.Consume(wherry.Queue(broker, ticks),
		func(context.Context, *wherry.Message[string]) wherry.Outcome {
			if seen++; seen == 3 {
				stop()
			}
			return wherry.Ack()
		})
	if err := wherry.Run(ctx, clock{publisher}, counter); err != nil {
		panic(err)
	}
	fmt.Println("at least three:", seen >= 3)
	// Output: at least three: true
}

// What is wrong with any of the declarations is reported together, before anything starts.
func ExampleRun_mistakes() {
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	events := wherry.NewTopic("events", codec.Text{}, wherry.Fanout("audit"))
	ignore := wherry.Func(func(context.Context, string) error { return nil })

	err := wherry.Run(context.Background(),
		wherry.Consume(wherry.Queue(broker, orders), ignore, wherry.Concurrency(0)),
		wherry.Consume(wherry.Queue(broker, events), ignore))
	fmt.Println(err)
	// Output:
	// wherry: consume orders: concurrency is 0, want at least 1
	// wherry: consume events: the topic is a fan-out: consume it with Group
}

// A package that offers options of its own reports wrong arguments by one of them.
func ExampleInvalid() {
	every := func(n int) wherry.ConsumerOption {
		if n < 1 {
			return wherry.Invalid(errors.New("every is less than 1"))
		}
		return wherry.Prefetch(n)
	}
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	ignore := wherry.Func(func(context.Context, string) error { return nil })
	fmt.Println(wherry.Consume(wherry.Queue(broker, orders), ignore, every(0)).Run(context.Background()))
	// Output: wherry: consume orders: every is less than 1
}
