// Command bank clears orders in transactions, books their movements in order by account, and keeps rates that every process hears
// of. Its tests, in bank_test.go beside it, are what it is for.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/mem"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	broker := mem.New(mem.Config{})
	orders, err := wherry.NewPublisher(ctx, broker, Orders)
	if err != nil {
		return err
	}
	if err := orders.Publish(ctx, &Order{From: "ada", To: "bob", Amount: 30, Currency: "EUR"}); err != nil {
		return err
	}
	booked := make(chan Movement, 2)
	bank := NewBank(broker, func(_ context.Context, m Movement) error {
		booked <- m
		if len(booked) == cap(booked) {
			stop()
		}
		return nil
	})
	if err := wherry.Run(ctx, bank.Consumers()...); err != nil {
		return err
	}
	close(booked)
	total := 0
	for m := range booked {
		total += m.Amount
	}
	fmt.Println("booked 2 movements, which come to", total)
	return nil
}
