package middleware_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/middleware"
)

func ExampleRecover() {
	shop := newShop("order 1")
	charge := func(context.Context, *wherry.Message[string]) wherry.Outcome { panic("no such currency") }
	reject := middleware.Recover(func(_ context.Context, m wherry.AnyMessage, p *wherry.PanicError) wherry.Outcome {
		fmt.Println(m.ID()+":", p)
		return wherry.Reject(p) // to the dead letters, instead of four more panics
	})
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge, reject))
	// Output: order 1: handler panicked: no such currency
}

func ExampleRecoverBatch() {
	shop := newShop("order 1", "order 2")
	store := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
		b.Set(0, wherry.Ack())
		panic("no such currency")
	}
	reject := middleware.RecoverBatch(func(_ context.Context, b wherry.AnyBatch, p *wherry.PanicError) wherry.Outcome {
		fmt.Println(b.Len(), "messages:", p)
		return wherry.Reject(p) // those that were not set
	})
	untilEmpty(wherry.ConsumeBatch(wherry.Queue(shop, orders), store, reject))
	// Output: 2 messages: handler panicked: no such currency
}
