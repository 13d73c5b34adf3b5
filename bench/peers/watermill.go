package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
)

const (
	watermillTopic = "orders"
	// watermillBacklog is why it is not drained.
	watermillBacklog = "gochannel hands messages to the subscribers there are and keeps none for one that comes later, " +
		"unless all of them are kept for ever"
)

// watermillConfig has a Publish that waits for the acknowledgement. It is about twice as fast as one that does not, which
// leaves a goroutine for each message behind, without a bound, and drops what they hold when it is closed.
func watermillConfig() gochannel.Config {
	return gochannel.Config{OutputChannelBuffer: bound, BlockPublishUntilSubscriberAck: true}
}

func watermillSettings(b *bed, more ...string) []string {
	return append([]string{
		"watermill=" + version("github.com/ThreeDotsLabs/watermill"),
		fmt.Sprintf("output_channel_buffer=%d", bound), "block_publish_until_ack=true", "persistent=false", "logger=none",
		"uuid=new for each message", fmt.Sprintf("body=%d bytes, allocated", b.Payload),
	}, more...)
}

// openWatermill is Watermill's gochannel without its Router: receivers read the channel of one subscription.
func openWatermill(ctx context.Context, b *bed) (*subject, error) {
	if err := onlyLive(b.Options, watermillBacklog); err != nil {
		return nil, err
	}
	pubsub := gochannel.NewGoChannel(watermillConfig(), watermill.NopLogger{})
	var receivers sync.WaitGroup
	return &subject{
		settings: watermillSettings(b, "router=none", "subscriptions=1"),
		start: func(context.Context) error {
			messages, err := pubsub.Subscribe(ctx, watermillTopic)
			if err != nil {
				return err
			}
			for range b.Consumers {
				lane := b.lane()
				receivers.Go(func() {
					for m := range messages {
						lane.Note(numberOf(m.Payload))
						m.Ack()
					}
				})
			}
			return nil
		},
		feed: watermillFeed(pubsub, b),
		stop: func() error {
			err := pubsub.Close()
			receivers.Wait()
			return err
		},
	}, nil
}

// openWatermillRouter is Watermill's gochannel with its Router, which starts a goroutine for each message. How many handle
// at once is nothing that can be set.
func openWatermillRouter(ctx context.Context, b *bed) (*subject, error) {
	if err := onlyLive(b.Options, watermillBacklog); err != nil {
		return nil, err
	}
	pubsub := gochannel.NewGoChannel(watermillConfig(), watermill.NopLogger{})
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	// A lane is written by one goroutine at a time, and goroutines come and go: they take turns with a few lanes.
	lanes := newPool(b, b.Consumers)
	router.AddConsumerHandler("bench", watermillTopic, pubsub, func(m *message.Message) error {
		lanes.note(numberOf(m.Payload))
		return nil
	})
	ended := make(chan error, 1)
	return &subject{
		settings: watermillSettings(b, "router=yes", "middleware=none", "concurrency=a goroutine for each message"),
		start: func(context.Context) error {
			go func() { ended <- router.Run(ctx) }()
			select {
			case <-router.Running():
				return nil
			case err := <-ended:
				return fmt.Errorf("the router ended: %w", err)
			}
		},
		feed: watermillFeed(pubsub, b),
		stop: func() error {
			if err := router.Close(); err != nil {
				return err
			}
			return <-ended
		},
	}, nil
}

func watermillFeed(pubsub *gochannel.GoChannel, b *bed) func(context.Context) error {
	return func(ctx context.Context) error {
		for id := range uint32(b.Messages) {
			m := message.NewMessage(watermill.NewUUID(), numbered(b.Payload, id))
			if err := pubsub.Publish(watermillTopic, m); err != nil {
				return err
			}
			if id%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
		}
		return nil
	}
}
