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
	untilEmpty(c) // what a paused consumer leaves to the broker is not waited for
	fmt.Println(bank.State())
	// Output:
	// charging order 1
	// charging order 2
	// open
}
