// Command pull takes messages in a loop of its own, for programs that want no handler.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Pages are addresses to fetch.
var Pages = wherry.NewTopic("pages", codec.Text{})

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Pages)
	if err != nil {
		return err
	}
	for _, page := range []string{"/", "/about", "/prices", "/contact"} {
		if err := publisher.Publish(ctx, &page); err != nil {
			return err
		}
	}

	budget := 3
	for m, err := range wherry.Pull(ctx, wherry.Queue(broker, Pages)) {
		if err != nil {
			return err
		}
		if budget == 0 {
			fmt.Println("left for later:", m.Value)
			break // it was not settled, so it goes back
		}
		budget--
		fmt.Println("fetched", m.Value)
		m.Settle(wherry.Ack())
	}
	return nil
}
