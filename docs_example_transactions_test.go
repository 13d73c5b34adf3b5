package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

type transfer struct {
	From, To string
	Cents    int
}

type booking struct {
	Account string
	Cents   int
}

// docs/transactions.md shows parts of this. Money moves from a topic of transfers to the topics of two sides, or not at all.
func Example_docsTransactions() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	requests := wherry.NewTopic("requests", codec.JSON[transfer]{})
	withdrawals := wherry.NewTopic("withdrawals", codec.JSON[booking]{})
	deposits := wherry.NewTopic("deposits", codec.JSON[booking]{})

	withdraw := wherry.NewTxPublisher(withdrawals)
	deposit := wherry.NewTxPublisher(deposits)
	move := wherry.Func(func(ctx context.Context, t transfer) error {
		if err := withdraw.Publish(ctx, &booking{t.From, -t.Cents}); err != nil {
			return err
		}
		if t.Cents < 0 {
			return wherry.Permanent(fmt.Errorf("%d cents", t.Cents)) // and nothing was withdrawn
		}
		return deposit.Publish(ctx, &booking{t.To, t.Cents})
	})
	source := wherry.Transacted(broker, requests, wherry.Publishing(withdraw, deposit))
	mover := wherry.Consume(source, move, wherry.Concurrency(8))

	publisher, err := wherry.NewPublisher(ctx, broker, requests)
	if err != nil {
		panic(err)
	}
	for _, t := range []transfer{{"ann", "bob", 500}, {"bob", "ann", -200}} {
		if err := publisher.Publish(ctx, &t); err != nil {
			panic(err)
		}
	}
	readUntil := func(stop context.CancelFunc) wherry.Handler[booking] {
		return wherry.Func(func(_ context.Context, b booking) error {
			fmt.Println(b.Account, b.Cents)
			stop()
			return nil
		})
	}
	fmt.Println(wherry.Run(ctx, mover, wherry.Consume(wherry.Queue(broker, deposits), readUntil(stop))))
	ctx, stop = context.WithCancel(context.Background())
	fmt.Println(wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, withdrawals), readUntil(stop))))
	// Output:
	// bob 500
	// <nil>
	// ann -500
	// <nil>
}
