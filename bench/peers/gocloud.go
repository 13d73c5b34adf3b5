package main

import (
	"context"
	"encoding/json"
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

// openGoCloud is gocloud.dev/pubsub over its mempubsub. A subscription keeps what is sent, so that a corpus waits in it.
// Bodies are bytes; the receivers of a drain decode them by encoding/json, which is what its users have.
func openGoCloud(ctx context.Context, b *bed) (*subject, error) {
	body, numberIn := bytesOf(b)
	if b.Method == "drain" && b.Flow == "parallel" && b.Codec == "json" {
		body, numberIn = jsonOf(b)
	} else if err := onlyLive(b.Options, "its drains are of the parallel flow with JSON bodies"); err != nil {
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
			fmt.Sprintf("ack_deadline=%v", ackDeadline), "body=allocated", "codec=" + b.Codec,
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
						id, err := numberIn(m.Body)
						if err != nil {
							failed <- err
							return
						}
						lane.Note(id)
						m.Ack()
					}
				})
			}
			return nil
		},
		feed: func(ctx context.Context) error {
			for id := range uint32(b.Messages) {
				if err := topic.Send(ctx, &pubsub.Message{Body: body(id)}); err != nil {
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

// bytesOf makes bodies as they are, and reads their numbers.
func bytesOf(b *bed) (body func(uint32) []byte, numberIn func([]byte) (uint32, error)) {
	return func(id uint32) []byte { return numbered(b.Payload, id) },
		func(body []byte) (uint32, error) { return numberOf(body), nil }
}

// jsonOf makes JSON bodies, and decodes them whole.
func jsonOf(b *bed) (body func(uint32) []byte, numberIn func([]byte) (uint32, error)) {
	k := notesOf(nil, b.Payload)
	return func(id uint32) []byte {
			text, _ := k.raw(make([]byte, 0, b.Payload+envelope), id) // It cannot fail.
			return text
		}, func(body []byte) (uint32, error) {
			var v note
			err := json.Unmarshal(body, &v)
			return k.id(&v), err
		}
}
