// Command batch stores readings many at a time, with an outcome for each.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// Reading is what travels.
type Reading struct {
	Sensor  int     `json:"sensor"`
	Celsius float64 `json:"celsius"`
}

// Readings come by the thousand.
var Readings = wherry.NewTopic("readings", codec.JSON[Reading]{})

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Readings)
	if err != nil {
		return err
	}
	readings := []*Reading{{1, 19.5}, {2, 20.1}, {3, -400}, {4, 18.7}, {5, 21.0}, {6, 19.9}, {7, 20.4}}
	if err := publisher.PublishAll(ctx, slices.Values(readings)); err != nil {
		return err
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	seen := 0
	store := func(_ context.Context, b *wherry.MessageBatch[Reading]) wherry.Outcome {
		var rows []Reading
		for i, m := range b.All() {
			if m.Value.Celsius < -273.15 {
				b.Set(i, wherry.Reject(errors.New("colder than possible")))
				continue
			}
			rows = append(rows, m.Value)
		}
		fmt.Printf("batch of %d: %d stored\n", b.Len(), len(rows))
		if seen += b.Len(); seen == len(readings) {
			stop()
		}
		return wherry.Ack() // of every message that was not set
	}
	return wherry.Run(ctx, wherry.ConsumeBatch(wherry.Queue(broker, Readings), store,
		wherry.BatchSize(3), wherry.BatchAge(20*time.Millisecond)))
}
