package middleware_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/middleware"
)

func ExampleTimeout() {
	shop := newShop("order 1")
	charge := func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
		if m.Attempt() == 1 {
			<-ctx.Done() // a slow bank
			fmt.Println(context.Cause(ctx))
			return wherry.RetryAfter(time.Millisecond, ctx.Err())
		}
		fmt.Println("charged", m.Value)
		return wherry.Ack()
	}
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge, middleware.Timeout(20*time.Millisecond)))
	// Output:
	// middleware: timeout of 20ms
	// charged order 1
}
