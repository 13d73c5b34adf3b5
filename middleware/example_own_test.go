package middleware_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry"
)

var errNoTenant = errors.New("the message names no tenant")

// tenantNeeded rejects messages without a tenant. The outer function is called once for each lane, the inner one for each
// message.
func tenantNeeded(next wherry.Next) wherry.Next {
	return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
		if m.Headers().Get("tenant") == "" {
			return wherry.Reject(errNoTenant)
		}
		return next(ctx, m)
	}
}

// tenantNeededBatch is the same for batches: what it rejects, nothing further in sees.
func tenantNeededBatch(next wherry.BatchNext) wherry.BatchNext {
	return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
		for i := b.Len() - 1; i >= 0; i-- {
			if b.At(i).Headers().Get("tenant") == "" {
				b.Skip(i, wherry.Reject(errNoTenant))
			}
		}
		if b.Len() == 0 {
			return wherry.Ack()
		}
		return next(ctx, b)
	}
}

// NeedTenant is a middleware of one's own for both shapes of handler.
func NeedTenant() wherry.ConsumerOption { return wherry.UseBoth(tenantNeeded, tenantNeededBatch) }

// A middleware of one's own stands between those of this package, for messages and for batches.
func Example() {
	told := wherry.OnEvent(func(e wherry.Event) {
		if e, ok := e.(*wherry.Handled); ok {
			fmt.Println(e.ID+":", e.Outcome)
		}
	})
	shop := newShop("order 1")
	charge := func(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge, told, NeedTenant()))

	shop = newShop("order 2")
	store := func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome { return wherry.Ack() }
	untilEmpty(wherry.ConsumeBatch(wherry.Queue(shop, orders), store, told, NeedTenant()))
	// Output:
	// order 1: reject: the message names no tenant
	// order 2: reject: the message names no tenant
}
