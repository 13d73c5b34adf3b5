package middleware_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/middleware"
)

func ExampleThrottle() {
	shop := newShop("order 1", "order 2", "order 3")
	began := time.Now()
	charge := func(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge, wherry.Concurrency(8),
		middleware.Throttle(middleware.Rate{Messages: 50, Per: time.Second})))
	fmt.Println("at least 40 ms:", time.Since(began) >= 40*time.Millisecond)
	// Output: at least 40 ms: true
}
