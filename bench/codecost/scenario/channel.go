package scenario

import (
	"context"
	"sync"
)

const channelCapacity = 10_000

// An item is what goes through a channel instead of a message: an id, and a body of its own.
type item struct {
	id   uint64
	body [bodySize]byte
}

// channel is a Go channel by which each message has its own body, copied in by the producer and out by the consumer.
func channel(ctx context.Context, w Work, counted func()) error {
	body := make([]byte, bodySize)
	next := uint64(0)
	return throughChannel(ctx, w, counted,
		func() item {
			next++
			v := item{id: next}
			copy(v.body[:], body)
			return v
		},
		func() func(item) {
			out := make([]byte, bodySize)
			return func(v item) { copy(out, v.body[:]) }
		})
}

// channelBare is the floor: the headers of slices that all share one body.
func channelBare(ctx context.Context, w Work, counted func()) error {
	body := make([]byte, bodySize)
	return throughChannel(ctx, w, counted,
		func() []byte { return body },
		func() func([]byte) { return func([]byte) {} })
}

func throughChannel[T any](ctx context.Context, w Work, counted func(), produce func() T, consumer func() func(T)) error {
	c := make(chan T, channelCapacity)
	f := newFinish(w.N)
	var receivers sync.WaitGroup
	for range w.Consumers {
		consume := consumer()
		receivers.Go(func() {
			for v := range c {
				consume(v)
				f.pass(1)
			}
		})
	}
	for range w.N {
		c <- produce()
	}
	err := await(ctx, f)
	if err == nil {
		counted()
	}
	f.release()
	close(c)
	receivers.Wait()
	return err
}

// await waits for the last message.
func await(ctx context.Context, f *finish) error {
	select {
	case <-f.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
