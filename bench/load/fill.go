package load

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
)

// fill publishes the messages from to to-1, with nobody looking at how long it takes.
func fill[T any](ctx context.Context, s *stage, b *body[T], from, to int) error {
	p, err := wherry.NewPublisher(ctx, s.relay, topicOf(s, b.filling))
	if err != nil {
		return err
	}
	v := b.fresh()
	return errors.Join(p.PublishAll(ctx, of(span{from, to, 1}, b, &v)), p.Close(ctx))
}

// bury makes dead letters of all messages of a topic.
func bury[T any](ctx context.Context, s *stage, t wherry.Topic[T], at driver.Source) error {
	reject := func(context.Context, *wherry.Message[T]) wherry.Outcome { return wherry.Reject(nil) }
	v := start(ctx, wherry.Consume(wherry.Queue(s.relay, t), reject, wherry.Concurrency(burying)))
	defer v.stop() //nolint:errcheck // It is stopped below, and here only on the way out with another error.
	want, had, since := int64(s.order.Messages), int64(-1), time.Now()
	for time.Since(since) < patience && ctx.Err() == nil {
		dead, err := s.relay.left(ctx, at)
		switch {
		case errors.Is(err, driver.ErrNoTopic):
		case err != nil:
			return fmt.Errorf("ask for the dead letters: %w", err)
		case dead < 0:
			return fmt.Errorf("the broker does not tell how many dead letters there are: %w", errors.ErrUnsupported)
		case dead >= want:
			return v.stop()
		case dead != had:
			had, since = dead, time.Now()
		}
		time.Sleep(look)
	}
	return v.stop() // The ledger says what is missing.
}

// burying is the handlers at once that reject what becomes dead letters.
const burying = 4
