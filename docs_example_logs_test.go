package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// docs/log-in-process.md shows a part of this.
func Example_docsLogInProcess() {
	type Payment struct {
		Account string
		Amount  int
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	account := func(dst []byte, p *Payment) []byte { return append(dst, p.Account...) }
	balance, all := 0, 0
	book := func(_ context.Context, p Payment) error { balance += p.Amount; return nil }
	watch := func(_ context.Context, p Payment) error {
		all++
		if all == 3 {
			stop()
		}
		return nil
	}

	broker := mem.NewLog(mem.LogConfig{Partitions: 4})
	payments := wherry.NewKeyedTopic("payments", codec.JSON[Payment]{}, account, wherry.Fanout("booking"))
	publisher, err := wherry.NewPublisher(ctx, broker, payments)
	if err != nil {
		panic(err)
	}
	for amount := range 3 {
		if err := publisher.Publish(ctx, &Payment{"anna", amount}); err != nil {
			panic(err)
		}
	}
	booking := wherry.Consume(wherry.GroupSequence(broker, "booking", payments), wherry.Func(book), wherry.Workers(2))
	replay := wherry.Consume(wherry.Broadcast(broker, payments, wherry.FromHead()), wherry.Func(watch))

	if err := wherry.Run(ctx, booking, replay); err != nil {
		panic(err)
	}
	fmt.Println(balance, all)
	// Output: 3 3
}
