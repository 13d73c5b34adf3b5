// Command codec carries readings in a binary form of its own.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

// Reading is what travels.
type Reading struct {
	Sensor  uint32
	Celsius float64
}

// readingCodec is twelve bytes per reading. A codec is used by many goroutines and keeps neither slice.
type readingCodec struct{}

const readingSize = 4 + 8

var errSize = errors.New("a reading has twelve bytes")

func (readingCodec) Append(dst []byte, r *Reading) ([]byte, error) {
	dst = binary.BigEndian.AppendUint32(dst, r.Sensor)
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(r.Celsius)), nil
}

func (readingCodec) Decode(src []byte, r *Reading) error {
	if len(src) != readingSize {
		return errSize // the message goes to the dead letters
	}
	r.Sensor = binary.BigEndian.Uint32(src)
	r.Celsius = math.Float64frombits(binary.BigEndian.Uint64(src[4:]))
	return nil
}

func (readingCodec) ContentType() string { return "application/vnd.example.reading" }

// Readings are keyed by their sensor.
var Readings = wherry.NewKeyedTopic("readings", readingCodec{}, func(dst []byte, r *Reading) []byte {
	return binary.BigEndian.AppendUint32(dst, r.Sensor)
})

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
	if err := publisher.Publish(ctx, &Reading{Sensor: 7, Celsius: 21.5}); err != nil {
		return err
	}

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, Readings),
		func(_ context.Context, m *wherry.Message[Reading]) wherry.Outcome {
			fmt.Printf("%d bytes of %s, key %x\n", len(m.Body()), m.ContentType(), m.Key())
			fmt.Printf("sensor %d: %.1f °C\n", m.Value.Sensor, m.Value.Celsius)
			stop()
			return wherry.Ack()
		}))
}
