package middleware_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/middleware"
)

func ExampleLimit() {
	shop := newShop("order 1", "order 2", "order 3")
	database := middleware.Limit(1) // given to every consumer that uses the database
	charge := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		fmt.Println("one at a time")
		return wherry.Ack()
	}
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge, database, wherry.Concurrency(8)))
	// Output:
	// one at a time
	// one at a time
	// one at a time
}
