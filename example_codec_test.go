package wherry_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

type reading struct {
	Sensor  uint16
	Celsius int16
}

// readingCodec is four bytes a reading.
type readingCodec struct{}

func (readingCodec) Append(dst []byte, v *reading) ([]byte, error) {
	dst = binary.BigEndian.AppendUint16(dst, v.Sensor)
	return binary.BigEndian.AppendUint16(dst, uint16(v.Celsius)), nil
}

func (readingCodec) Decode(src []byte, v *reading) error {
	if len(src) != 4 {
		return errors.New("want four bytes")
	}
	v.Sensor = binary.BigEndian.Uint16(src)
	v.Celsius = int16(binary.BigEndian.Uint16(src[2:]))
	return nil
}

func (readingCodec) ContentType() string { return "application/x-reading" }

// A codec of your own is three methods. A body that it refuses goes to the dead letters without a handler call.
func ExampleCodec() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	readings := wherry.NewTopic("readings", readingCodec{})
	publisher, err := wherry.NewPublisher(ctx, broker, readings)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, &reading{Sensor: 3, Celsius: -12}); err != nil {
		panic(err)
	}
	consumer := wherry.Consume(wherry.Queue(broker, readings),
		func(_ context.Context, m *wherry.Message[reading]) wherry.Outcome {
			fmt.Println("sensor", m.Value.Sensor, "at", m.Value.Celsius, "°C in", len(m.Body()), "bytes of", m.ContentType())
			stop()
			return wherry.Ack()
		})
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output: sensor 3 at -12 °C in 4 bytes of application/x-reading
}
