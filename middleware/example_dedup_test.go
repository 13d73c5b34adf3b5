package middleware_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/middleware"
)

func ExampleDedup() {
	shop := newShop("order 1", "order 1", "order 2")
	charge := wherry.Func(func(_ context.Context, order string) error {
		fmt.Println("charged", order)
		return nil
	})
	marks := middleware.NewMemoryStore(100_000)
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge, middleware.Dedup(marks, middleware.DedupConfig{})))
	// Output:
	// charged order 1
	// charged order 2
}

func ExampleByBody() {
	shop := newShop("order 1", "order 1", "order 2")
	charge := wherry.Func(func(_ context.Context, order string) error {
		fmt.Println("charged", order)
		return nil
	})
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge,
		middleware.Dedup(middleware.NewMemoryStore(0), middleware.DedupConfig{Key: middleware.ByBody})))
	// Output:
	// charged order 1
	// charged order 2
}
