// Command breaker leaves messages with the broker while what they need is down, instead of failing them one by one.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

// Payments are the names of who pays.
var Payments = wherry.NewTopic("payments", codec.Text{})

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Payments)
	if err != nil {
		return err
	}
	names := []string{"Ada", "Ben", "Cleo", "Dora"}
	for _, name := range names {
		if err := publisher.Publish(ctx, &name); err != nil {
			return err
		}
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var bankIsUp atomic.Bool
	breaker := middleware.NewBreaker(middleware.BreakerConfig{
		Name:    "bank",
		InARow:  2,
		OpenFor: 200 * time.Millisecond,
		OnChange: func(from, to middleware.BreakerState) {
			fmt.Printf("breaker: %v, was %v\n", to, from)
			bankIsUp.Store(true) // in the meantime
		},
	})
	paid := 0
	charge := wherry.Func(func(_ context.Context, name string) error {
		if !bankIsUp.Load() {
			fmt.Println("the bank does not answer for", name)
			return errors.New("the bank does not answer")
		}
		fmt.Println(name, "paid")
		paid++
		if paid == len(names) {
			stop()
		}
		return nil
	})
	return wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, Payments), charge, breaker.Option(),
		wherry.RetryWith(wherry.RetryPolicy{First: 300 * time.Millisecond, Jitter: wherry.NoJitter})))
}
