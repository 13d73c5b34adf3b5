package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

const (
	// batchSize and batchAge are the defaults, and the same as those of the batches that they are compared with.
	batchSize = 500
	batchAge  = 250 * time.Millisecond
	// envelope is more than what a message takes in a queue beside its payload.
	envelope = 1 << 10
	topic    = "bench"
)

// openWherry is Wherry on its broker inside the process, with default options: ids, attempts, timeout and watchdog are on.
func openWherry(ctx context.Context, b *bed) (*subject, error) {
	switch b.Flow {
	case "parallel", "batch":
	case flowSequence:
		if b.Method != document.Live || b.Codec == "bytesview" {
			return nil, lacks("a sequence is published and consumed at once, with values")
		}
	case "service":
		c, err := orderCodec(b.Codec)
		if err != nil {
			return nil, err
		}
		return open(ctx, b, orders{codec: c, size: b.Payload})
	default:
		return nil, lacks("the flow %s is not part of this comparison", b.Flow)
	}
	if b.Codec == "bytesview" {
		return open(ctx, b, views(b.Payload))
	}
	c, err := noteCodec(b.Codec)
	if err != nil {
		return nil, err
	}
	return open(ctx, b, notesOf(c, b.Payload))
}

// A kind is how the messages of a cell are made and known again.
type kind[T any] interface {
	decoder() wherry.Codec[T]
	// raw appends the body of a message to dst.
	raw(dst []byte, id uint32) ([]byte, error)
	// value sets v to the value of a message that was sent at a time, for publishers that encode.
	value(v *T, id uint32, at int64)
	id(v *T) uint32
	// key appends the key of a message of a sequence.
	key(dst []byte, v *T) []byte
}

// broker has the default bound, unless it is to hold a corpus.
func broker(b *bed) (*mem.Broker, []string) {
	if b.Method != document.Drain {
		return mem.New(mem.Config{MaxMessages: bound}), []string{fmt.Sprintf("bound=%d", bound)}
	}
	most := max(b.Messages, bound)
	return mem.New(mem.Config{MaxMessages: most, MaxBytes: max(mem.DefaultMaxBytes, most*(b.Payload+envelope))}),
		[]string{fmt.Sprintf("bound=%d", most)}
}

func open[T any](ctx context.Context, b *bed, k kind[T]) (*subject, error) {
	br, settings := broker(b)
	var typed wherry.TopicOf[T] = wherry.NewTopic(topic, k.decoder())
	source := wherry.Queue(br, typed)
	if b.Flow == flowSequence {
		keyed := wherry.NewKeyedTopic(topic, k.decoder(), k.key)
		typed, source = keyed, wherry.Sequence(br, keyed)
	}
	// Bodies of live and drained messages are made by hand, so that a drain is filled in little time and a live producer
	// does what the producers of the others do: it copies bytes.
	bytes, err := wherry.NewPublisher(ctx, br, wherry.NewTopic(topic, codec.BytesView{}))
	if err != nil {
		return nil, err
	}
	values, err := wherry.NewPublisher(ctx, br, typed)
	if err != nil {
		return nil, err
	}
	consumer, said := consumerOf(b, source, k)
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	started := false
	return &subject{
		settings: append(append(settings, "codec="+b.Codec), said...),
		start: func(context.Context) error {
			started = true
			go func() { ended <- consumer.Run(running) }()
			return nil
		},
		feed: func(ctx context.Context) error {
			if b.Flow == flowSequence {
				return feedValues(ctx, b, values, k)
			}
			body := make([]byte, 0, b.Payload+envelope)
			for id := range uint32(b.Messages) {
				var err error
				if body, err = k.raw(body[:0], id); err != nil {
					return err
				}
				if err := bytes.Publish(ctx, &body); err != nil {
					return err
				}
			}
			return nil
		},
		send: func() func(context.Context, uint32) error {
			var v T
			return func(ctx context.Context, id uint32) error {
				k.value(&v, id, b.clock.sent[id])
				return values.Publish(ctx, &v)
			}
		}(),
		stop: func() error {
			cancel()
			var err error
			if started {
				err = <-ended
			}
			closing := context.WithoutCancel(ctx)
			return errors.Join(err, bytes.Close(closing), values.Close(closing), br.Close(closing))
		},
	}, nil
}

// feedValues publishes values, which the publisher encodes, as that of the peer does.
func feedValues[T any](ctx context.Context, b *bed, p *wherry.Publisher[T], k kind[T]) error {
	var v T
	for id := range uint32(b.Messages) {
		k.value(&v, id, 0)
		if err := p.Publish(ctx, &v); err != nil {
			return err
		}
	}
	return nil
}

// consumerOf is the consumer of a cell, and what is to be said of its options.
func consumerOf[T any](b *bed, source wherry.Source[T], k kind[T]) (*wherry.Consumer, []string) {
	if b.Flow == "batch" {
		lanes := ledger.NewFinder[wherry.MessageBatch[T]](b.lane)
		handle := func(_ context.Context, m *wherry.MessageBatch[T]) wherry.Outcome {
			lane := lanes.Lane(m)
			for i := range m.Len() {
				lane.Note(k.id(&m.Message(i).Value))
			}
			return wherry.Ack()
		}
		settings := []string{
			fmt.Sprintf("workers=%d", b.Consumers), fmt.Sprintf("batch_size=%d", batchSize), fmt.Sprintf("batch_age=%v", batchAge),
		}
		return wherry.ConsumeBatch(source, handle, wherry.Workers(b.Consumers), wherry.BatchSize(batchSize),
			wherry.BatchAge(batchAge)), settings
	}
	workers, concurrency := max(1, b.Workers), b.Consumers/max(1, b.Workers)
	settings := []string{fmt.Sprintf("workers=%d", workers), fmt.Sprintf("concurrency=%d", concurrency)}
	if b.Flow == flowSequence {
		settings = append(settings, fmt.Sprintf("keys=%d", sequenceKeys), "on_failure=skip")
	}
	return wherry.Consume(source, handlerOf(b, k), wherry.Workers(workers), wherry.Concurrency(concurrency)), settings
}

// handlerOf notes the message, and its time in an offered load. One message value serves a lane, and so names it.
func handlerOf[T any](b *bed, k kind[T]) wherry.Handler[T] {
	lanes := ledger.NewFinder[wherry.Message[T]](b.lane)
	if keys := b.keys; keys != nil {
		return func(_ context.Context, m *wherry.Message[T]) wherry.Outcome {
			id := k.id(&m.Value)
			keys.Note(id)
			lanes.Lane(m).Note(id)
			return wherry.Ack()
		}
	}
	if b.clock == nil {
		return func(_ context.Context, m *wherry.Message[T]) wherry.Outcome {
			lanes.Lane(m).Note(k.id(&m.Value))
			return wherry.Ack()
		}
	}
	return func(_ context.Context, m *wherry.Message[T]) wherry.Outcome {
		id := k.id(&m.Value)
		b.clock.arrived(id)
		lanes.Lane(m).Note(id)
		return wherry.Ack()
	}
}
