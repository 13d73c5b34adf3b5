package middleware_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/middleware"
)

func ExampleAudit() {
	shop := newShop("order 1", "order 2")
	charge := wherry.Func(func(_ context.Context, order string) error {
		if order == "order 2" {
			return wherry.Permanent(errors.New("no such customer"))
		}
		return nil
	})
	sink := middleware.AuditFunc(func(_ context.Context, records []middleware.AuditRecord) error {
		for _, r := range records {
			fmt.Printf("%s, attempt %d: %s %q\n", r.ID, r.Attempt, r.Outcome, r.Error)
		}
		return nil
	})
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge, middleware.Audit(sink, middleware.AuditConfig{})))
	// Output:
	// order 1, attempt 1: ack ""
	// order 2, attempt 1: reject "no such customer"
}

func ExampleAuditTo() {
	shop := newShop("order 1")
	trail := wherry.NewTopic("audit", codec.JSON[middleware.AuditRecord]{})
	p, err := wherry.NewPublisher(context.Background(), shop, trail)
	if err != nil {
		panic(err)
	}
	charge := wherry.Func(func(context.Context, string) error { return nil })
	untilEmpty(wherry.Consume(wherry.Queue(shop, orders), charge,
		middleware.Audit(middleware.AuditTo(p), middleware.AuditConfig{})))

	untilEmpty(wherry.Consume(wherry.Queue(shop, trail), wherry.Func(func(_ context.Context, r middleware.AuditRecord) error {
		fmt.Println(r.Consumer, r.ID, r.Outcome)
		return nil
	})))
	// Output: orders order 1 ack
}
