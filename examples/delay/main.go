// Command delay publishes reminders that become visible later.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Reminders are texts for people.
var Reminders = wherry.NewTopic("reminders", codec.Text{})

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Reminders)
	if err != nil {
		return err
	}
	for _, r := range []struct {
		text string
		in   time.Duration
	}{
		{"take out the cake", 300 * time.Millisecond},
		{"look at the cake", 150 * time.Millisecond},
		{"put in the cake", 0},
	} {
		if err := publisher.Publish(ctx, &r.text, wherry.WithDelay(r.in)); err != nil {
			return err
		}
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	began := time.Now()
	return wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, Reminders), wherry.Func(
		func(_ context.Context, text string) error {
			fmt.Println(text)
			if text == "take out the cake" {
				fmt.Println("not too early:", time.Since(began) > 250*time.Millisecond)
				stop()
			}
			return nil
		})))
}
