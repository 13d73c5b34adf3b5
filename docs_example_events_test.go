package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// reasonCounts and takenTimes are what a service has of a library for metrics.
type (
	reasonCounts struct {
		mu sync.Mutex
		of map[string]int
	}
	takenTimes struct {
		mu sync.Mutex
		n  int
	}
)

func (c *reasonCounts) add(consumer string, why wherry.Reason) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[fmt.Sprint(consumer, " ", why)]++
}

func (c *takenTimes) observe(string, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

// docs/events.md shows a part of this.
func Example_docsEvents() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	publisher, err := wherry.NewPublisher(ctx, broker, orders)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("a teapot")); err != nil {
		panic(err)
	}
	deadLetters, durations := &reasonCounts{of: map[string]int{}}, &takenTimes{}
	page := func(consumer, why string) { fmt.Println(consumer, "stands still:", why) }

	told := wherry.OnEvent(func(e wherry.Event) {
		switch e := e.(type) {
		case *wherry.Handled:
			durations.observe(e.Consumer, e.Took) // what is kept is copied
		case *wherry.DeadLettered:
			deadLetters.add(e.Consumer, e.Reason)
		case *wherry.Stalled:
			page(e.Consumer, e.Cause)
		}
	})

	consumer := wherry.Consume(wherry.Queue(broker, orders), func(context.Context, *wherry.Message[string]) wherry.Outcome {
		stop()
		return wherry.Reject(errors.New("no teapots"))
	}, told)
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	fmt.Println(durations.n, deadLetters.of)
	// Output: 1 map[orders rejected:1]
}
