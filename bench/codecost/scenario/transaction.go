package scenario

import (
	"context"
	"time"

	"github.com/wherryhq/wherry"
)

// transaction handles messages that wait, one by one, and settles as many as a batch has in one transaction.
func transaction[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	s, err := newService(ctx, newRoomy(w), "transaction", l)
	if err != nil {
		return err
	}
	if err := s.fill(ctx, w.Ready); err != nil {
		return err
	}
	f := newFinish(w.N)
	source := wherry.Transacted(s.broker, s.topic, wherry.TxAtMost(batchSize, time.Minute))
	c := wherry.Consume(source, func(context.Context, *wherry.Message[T]) wherry.Outcome {
		f.pass(1)
		return wherry.Ack()
	}, lanes(w)...)
	return s.run(ctx, c, f, nothing, counted)
}
