package scenario

import (
	"context"
	"errors"
	"iter"

	"github.com/wherryhq/wherry/mem"
)

// publish sends one by one through a publisher. What was published is drained by hand, as in hand.
func publish[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	return published(ctx, w, l, handBatch, counted, func(s *service[T], n int) error { return s.fill(ctx, n) })
}

// publishMany is the number of messages in one call of publishAll.
const publishMany = 100

// publishAll publishes 100 in a call. What was published is drained by hand.
func publishAll[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	return published(ctx, w, l, publishMany, counted, func(s *service[T], n int) error {
		return s.publisher.PublishAll(ctx, repeat(&s.body, n))
	})
}

// repeat gives one value n times.
func repeat[T any](v *T, n int) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for range n {
			if !yield(v) {
				return
			}
		}
	}
}

func published[T any](
	ctx context.Context, w Work, l load[T], batch int, counted func(), publish func(s *service[T], n int) error,
) error {
	s, err := newService(ctx, mem.New(mem.Config{}), handTopic, l)
	if err != nil {
		return err
	}
	h, err := newHandLoop(ctx, s.broker, l, handBatch)
	if err != nil {
		return err
	}
	for left := w.N; left > 0; {
		some := min(left, batch)
		if err := publish(s, some); err != nil {
			return err
		}
		if err := h.drainAll(ctx, some); err != nil {
			return err
		}
		left -= some
	}
	counted()
	return errors.Join(s.publisher.Close(ctx), s.broker.Close(ctx))
}
