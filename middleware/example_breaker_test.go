package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/middleware"
)

func ExampleBreaker() {
	shop := newShop("order 1", "order 2", "order 3")
	bank := middleware.NewBreaker(middleware.BreakerConfig{Name: "bank", InARow: 2, OpenFor: time.Hour})
	charge := wherry.Func(func(_ context.Context, order string) error {
		fmt.Println("charging", order)
		return errors.New("the bank is closed")
	})
	c := wherry.Consume(wherry.Queue(shop, orders), charge, bank.Option(),
		wherry.RetryWith(wherry.RetryPolicy{First: time.Hour, Max: time.Hour}))
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	err := wherry.Run(ctx, c)
	fmt.Println(bank.State())

	// What a paused consumer leaves is not waited for, and counted.
	if left, ok := errors.AsType[*wherry.AbandonedError](err); ok {
		fmt.Println(left.Left, "orders are left")
	}

	// Output:
	// charging order 1
	// charging order 2
	// open
	// 3 orders are left
}
