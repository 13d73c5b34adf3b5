package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A bridge passes messages on as they are. What handles them there tells duplicates by the id that they had here.
func ExampleWithOriginal() {
	ctx, stop := context.WithCancel(context.Background())
	here, there := mem.New(mem.Config{}), mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Bytes{})
	publisher, err := wherry.NewPublisher(ctx, here, orders)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new([]byte("three lamps")), wherry.WithID("order-1"), wherry.WithHeader("tenant", "a")); err != nil {
		panic(err)
	}

	out, err := wherry.NewPublisher(ctx, there, orders)
	if err != nil {
		panic(err)
	}
	bridge := wherry.Consume(wherry.Queue(here, orders), func(ctx context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
		if err := out.Publish(ctx, &m.Value, wherry.WithOriginal(m)); err != nil {
			return wherry.Retry(err)
		}
		return wherry.Ack()
	})

	ship := wherry.Consume(wherry.Queue(there, orders), func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
		fmt.Println(m.ID(), m.Headers().Get("tenant"), string(m.Value))
		stop()
		return wherry.Ack()
	})
	if err := wherry.Run(ctx, bridge, ship); err != nil {
		panic(err)
	}
	// Output: order-1 a three lamps
}
