package demo

import (
	"context"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/cmd/wherry/internal/ledger"
)

// book is a middleware that writes down what a group makes of each message.
func book(l *ledger.Ledger) wherry.Middleware {
	return func(next wherry.Next) wherry.Next {
		return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
			tried(l, m)
			o := next(ctx, m)
			ended(l, m, o)
			return o
		}
	}
}

// bookBatch is book for batches.
func bookBatch(l *ledger.Ledger) wherry.BatchMiddleware {
	return func(next wherry.BatchNext) wherry.BatchNext {
		return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
			for i := range b.Len() {
				tried(l, b.At(i))
			}
			rest := next(ctx, b)
			for i := range b.Len() {
				o, own := b.Outcome(i)
				if !own {
					o = rest
				}
				ended(l, b.At(i), o)
			}
			return rest
		}
	}
}

func tried(l *ledger.Ledger, m wherry.AnyMessage) {
	if m.Attempt() > 1 {
		l.Retried(m.ID(), m.Group())
	}
}

// ended notes what is acknowledged. What is given up is noted where it must arrive: by the consumer of dead letters.
func ended(l *ledger.Ledger, m wherry.AnyMessage, o wherry.Outcome) {
	if o.Kind() == wherry.KindAck {
		l.Handled(m.ID(), m.Group())
	}
}
