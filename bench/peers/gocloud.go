package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gocloud.dev/pubsub"
	"gocloud.dev/pubsub/batcher"
	"gocloud.dev/pubsub/mempubsub"
)

// ackDeadline is longer than any run, so that nothing comes again because a run was slow.
const ackDeadline = 10 * time.Minute

// openGoCloud is gocloud.dev/pubsub over its mempubsub. A subscription must be there before a message is sent, so a corpus
// can wait in one; its receive walks over all messages that are not acknowledged, which a corpus makes long.
func openGoCloud(ctx context.Context, b *bed) (*subject, error) {
	if err := onlyLive(b.Options, "a receive of mempubsub looks at every message that waits, which no corpus of a second allows"); err != nil {
		return nil, err
	}
	topic := mempubsub.NewTopicWithOptions(&mempubsub.TopicOptions{BatcherOptions: batcher.Options{MaxHandlers: 1}})
	sub := mempubsub.NewSubscription(topic, ackDeadline)
	receiving, cancel := context.WithCancel(ctx)
	var receivers sync.WaitGroup
	failed := make(chan error, b.Consumers)
	return &subject{
		settings: []string{
			"gocloud.dev=" + version("gocloud.dev"), "queue=unbounded", "send_handlers=1",
			fmt.Sprintf("ack_deadline=%v", ackDeadline), fmt.Sprintf("body=%d bytes, allocated", b.Payload),
		},
		start: func(context.Context) error {
			for range b.Consumers {
				lane := b.lane()
				receivers.Go(func() {
					for {
						m, err := sub.Receive(receiving)
						if err != nil {
							if receiving.Err() == nil {
								failed <- err
							}
							return
						}
						lane.Note(numberOf(m.Body))
						m.Ack()
					}
				})
			}
			return nil
		},
		feed: func(ctx context.Context) error {
			for id := range uint32(b.Messages) {
				if err := topic.Send(ctx, &pubsub.Message{Body: numbered(b.Payload, id)}); err != nil {
					return err
				}
			}
			return nil
		},
		stop: func() error {
			cancel()
			receivers.Wait()
			// The context of the run may have ended, and what waits for an acknowledgement is given up all the same.
			closing, done := context.WithTimeout(context.WithoutCancel(ctx), stalled)
			defer done()
			err := errors.Join(sub.Shutdown(closing), topic.Shutdown(closing))
			close(failed)
			for e := range failed {
				err = errors.Join(err, e)
			}
			return err
		},
	}, nil
}
