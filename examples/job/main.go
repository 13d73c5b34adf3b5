// Command job handles the invoices that are there and ends, as a job does that is started every night.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// An Invoice is to be sent.
type Invoice struct {
	Number int `json:"number"`
}

// Invoices come in all day.
var Invoices = wherry.NewTopic("invoices", codec.JSON[Invoice]{})

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Invoices)
	if err != nil {
		return err
	}
	for number := range 5 {
		if err := publisher.Publish(ctx, &Invoice{number}); err != nil {
			return err
		}
	}
	var sent atomic.Int64
	err = handleWhatThereIs(ctx, broker, 50*time.Millisecond, func(context.Context, Invoice) error {
		sent.Add(1)
		return nil
	})
	fmt.Println("invoices sent:", sent.Load())
	return err
}

// handleWhatThereIs returns when no invoice has come for a while.
func handleWhatThereIs(ctx context.Context, broker driver.Queuer, quiet time.Duration, send func(context.Context, Invoice) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	idle := &idle{quiet: quiet, timer: time.AfterFunc(time.Hour, stop)} // an hour to reach the broker
	defer idle.timer.Stop()
	return wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, Invoices), wherry.Func(send),
		wherry.Concurrency(8), wherry.Use(idle.watch), wherry.OnEvent(idle.begin)))
}

// An idle stops a consumer for which nothing comes.
type idle struct {
	quiet time.Duration
	mu    sync.Mutex // guards the fields below
	timer *time.Timer
	busy  int // handlers at work
}

// begin counts from when the consumer receives.
func (i *idle) begin(e wherry.Event) {
	if _, ok := e.(*wherry.Started); ok {
		i.timer.Reset(i.quiet)
	}
}

func (i *idle) watch(next wherry.Next) wherry.Next {
	return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
		i.add(1)
		defer i.add(-1)
		return next(ctx, m)
	}
}

// add counts handlers. The time runs while none is at work.
func (i *idle) add(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.busy += n
	i.timer.Stop()
	if i.busy == 0 {
		i.timer.Reset(i.quiet)
	}
}
