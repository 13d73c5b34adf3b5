// Command driver is a driver for a message system of its own, and a service on it. The test beside it holds the driver against the
// contract.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
)

// Notes are texts.
var Notes = wherry.NewTopic("notes", codec.Text{})

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	broker := Dial(NewServer())
	publisher, err := wherry.NewPublisher(ctx, broker, Notes)
	if err != nil {
		return err
	}
	notes := []string{"do", "re", "mi"}
	for i := range notes {
		if err := publisher.Publish(ctx, &notes[i]); err != nil {
			return err
		}
	}
	left := len(notes)
	play := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		if m.Value == "re" && m.Attempt() == 1 {
			fmt.Println(m.Value, "is out of tune")
			return wherry.Retry(errors.New("out of tune"))
		}
		fmt.Println(m.Value)
		if left--; left == 0 {
			stop()
		}
		return wherry.Ack()
	}
	err = wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, Notes), play))
	closing := context.WithoutCancel(ctx)
	return errors.Join(err, publisher.Close(closing), broker.Close(closing))
}
