package load

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry"
)

// fill publishes the messages from to to-1, with nobody looking at how long it takes.
func fill[T any](ctx context.Context, s *stage, b *body[T], from, to int) error {
	p, err := wherry.NewPublisher(ctx, s.relay, topicOf(s, b, b.filling))
	if err != nil {
		return err
	}
	v := b.fresh()
	return errors.Join(p.PublishAll(ctx, of(span{from, to, 1}, b, &v)), p.Close(ctx))
}

// bury makes dead letters of all messages of a topic. What is missing then, the ledger says later.
func bury[T any](ctx context.Context, s *stage, t wherry.TopicOf[T]) error {
	var rejected atomic.Int64
	reject := func(context.Context, *wherry.Message[T]) wherry.Outcome {
		rejected.Add(1)
		return wherry.Reject(nil)
	}
	v := start(ctx, wherry.Consume(wherry.Queue(s.relay, t), reject, wherry.Concurrency(burying)))
	had, since := int64(0), time.Now()
	for had < int64(s.order.Messages) && time.Since(since) < patience && ctx.Err() == nil {
		if now := rejected.Load(); now != had {
			had, since = now, time.Now()
		}
		time.Sleep(look)
	}
	return v.stop() // It makes the moves that it has in hand.
}

// burying is the handlers at once that reject what becomes dead letters.
const burying = 4
