package scenario

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A service is a topic on a broker, and a publisher of bodies that are encoded already.
type service[T any] struct {
	broker    *mem.Broker
	topic     wherry.Topic[T]
	publisher *wherry.Publisher[[]byte]
	body      []byte
}

func newService[T any](ctx context.Context, b *mem.Broker, name string, l load[T]) (*service[T], error) {
	return newServiceOn(ctx, b, name, l, wherry.NewTopic(name, codec.BytesView{}))
}

// newServiceOn is newService with the topic of that name that bodies are published to.
func newServiceOn[T any](
	ctx context.Context, b *mem.Broker, name string, l load[T], to wherry.TopicOf[[]byte],
) (*service[T], error) {
	p, err := wherry.NewPublisher(ctx, b, to)
	if err != nil {
		return nil, err
	}
	return &service[T]{broker: b, topic: wherry.NewTopic(name, l.codec), publisher: p, body: l.body}, nil
}

// fill publishes n messages.
func (s *service[T]) fill(ctx context.Context, n int) error {
	for range n {
		if err := s.publisher.Publish(ctx, &s.body); err != nil {
			return err
		}
	}
	return nil
}

// run runs c until f has all its messages, with feed beside it.
func (s *service[T]) run(ctx context.Context, c *wherry.Consumer, f *finish, feed func(context.Context) error, counted func()) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() {
		err := c.Run(running)
		stop()
		done <- err
	}()
	err := feed(running)
	if err == nil {
		err = await(running, f)
	}
	if err == nil {
		counted()
	}
	f.release()
	stop()
	return errors.Join(err, <-done, s.publisher.Close(ctx), s.broker.Close(ctx))
}

// lanes are the options that consumers and workers ask for. What is one is left to the defaults.
func lanes(w Work) []wherry.ConsumeOption {
	var opts []wherry.ConsumeOption
	if w.Consumers > 1 {
		opts = append(opts, wherry.Concurrency(w.Consumers))
	}
	if w.Workers > 1 {
		opts = append(opts, wherry.Workers(w.Workers))
	}
	return opts
}

// nothing feeds nothing: what is to be handled waits already.
func nothing(context.Context) error { return nil }

// live publishes one by one while a consumer handles, all with the defaults.
func live[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	s, err := newService(ctx, mem.New(mem.Config{}), "live", l)
	if err != nil {
		return err
	}
	f := newFinish(w.N)
	c := wherry.Consume(wherry.Queue(s.broker, s.topic), func(context.Context, *wherry.Message[T]) wherry.Outcome {
		f.pass(1)
		return wherry.Ack()
	}, lanes(w)...)
	return s.run(ctx, c, f, func(ctx context.Context) error { return s.fill(ctx, w.N) }, counted)
}

// consume handles messages that wait.
func consume[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	s, err := newService(ctx, newRoomy(w), "consume", l)
	if err != nil {
		return err
	}
	chain, err := chainOf(w)
	if err != nil {
		return err
	}
	if err := s.fill(ctx, w.Ready); err != nil {
		return err
	}
	f := newFinish(w.N)
	c := wherry.Consume(wherry.Queue(s.broker, s.topic), func(context.Context, *wherry.Message[T]) wherry.Outcome {
		f.pass(1)
		return wherry.Ack()
	}, append(lanes(w), chain...)...)
	return s.run(ctx, c, f, nothing, counted)
}

// batchSize is the number of messages in a batch.
const batchSize = 64

// batch handles messages that wait, 64 in a call.
func batch[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	s, err := newService(ctx, newRoomy(w), "batch", l)
	if err != nil {
		return err
	}
	if err := s.fill(ctx, w.Ready); err != nil {
		return err
	}
	f := newFinish(w.N)
	c := wherry.ConsumeBatch(wherry.Queue(s.broker, s.topic), func(_ context.Context, b *wherry.MessageBatch[T]) wherry.Outcome {
		f.pass(b.Len())
		return wherry.Ack()
	}, wherry.BatchSize(batchSize))
	return s.run(ctx, c, f, nothing, counted)
}

// reply publishes a message from the handler and acknowledges after its confirm. The replies are drained by hand.
func reply[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	s, err := newService(ctx, newRoomy(w), "requests", l)
	if err != nil {
		return err
	}
	answers, err := newService(ctx, s.broker, handTopic, l)
	if err != nil {
		return err
	}
	drained, err := newHandLoop(ctx, s.broker, l, handBatch)
	if err != nil {
		return err
	}
	if err := s.fill(ctx, w.Ready); err != nil {
		return err
	}
	f := newFinish(w.N)
	sent := 0
	c := wherry.Consume(wherry.Queue(s.broker, s.topic), func(ctx context.Context, _ *wherry.Message[T]) wherry.Outcome {
		if err := answers.publisher.Publish(ctx, &answers.body); err != nil {
			return wherry.Retry(err)
		}
		if sent++; sent%handBatch == 0 {
			if err := drained.drainAll(ctx, handBatch); err != nil {
				return wherry.Retry(err)
			}
		}
		f.pass(1)
		return wherry.Ack()
	})
	return errors.Join(s.run(ctx, c, f, nothing, counted), answers.publisher.Close(ctx))
}

// errOnce is why one message in ten fails its first attempt.
var errOnce = errors.New("fails once")

// redelivery is live with one failure in ten, which the ladder of retries brings again.
func redelivery[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	s, err := newService(ctx, mem.New(mem.Config{}), "redelivery", l)
	if err != nil {
		return err
	}
	f := newFinish(w.N)
	first := 0
	c := wherry.Consume(wherry.Queue(s.broker, s.topic), func(_ context.Context, m *wherry.Message[T]) wherry.Outcome {
		if m.Attempt() == 1 {
			if first++; first%10 == 0 {
				return wherry.Retry(errOnce)
			}
		}
		f.pass(1)
		return wherry.Ack()
	}, wherry.RetryWith(wherry.RetryPolicy{Delays: []time.Duration{time.Millisecond}, Jitter: wherry.NoJitter}))
	return s.run(ctx, c, f, func(ctx context.Context) error { return s.fill(ctx, w.N) }, counted)
}
