package mem_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func ExampleNew() {
	ctx := context.Background()
	b := mem.New(mem.Config{})
	defer func() { _ = b.Close(ctx) }()

	orders := driver.Topic{Name: "orders"}
	s, err := b.OpenSender(ctx, driver.Target{Topic: orders})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Send(ctx, []driver.Record{{Body: []byte("one")}, {Body: []byte("two")}}); err != nil {
		fmt.Println(err)
		return
	}
	r, err := b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{orders}, Prefetch: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 8))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range ds {
		fmt.Printf("%s, delivered %d\n", d.Body, d.Delivered)
		if err := r.Settle(ctx, []driver.Settlement{{Delivery: d, Verdict: driver.Done}}); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// one, delivered 1
	// two, delivered 1
}

func ExampleConfig() {
	b := mem.New(mem.Config{MaxMessages: -1, Lease: -time.Second})
	err := b.Declare(context.Background(), driver.Topic{Name: "orders"}, driver.Declare)
	fmt.Println(err)
	// Output:
	// mem: config: MaxMessages is -1, which is negative
	// Lease is -1s, which is negative
}

func ExampleBroker_Faults() {
	ctx := context.Background()
	b := mem.New(mem.Config{})
	defer func() { _ = b.Close(ctx) }()
	s, err := b.OpenSender(ctx, driver.Target{Topic: driver.Topic{Name: "orders"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	b.Faults().CutAfter("orders", 1)
	fmt.Println(s.Send(ctx, []driver.Record{{Body: []byte("one")}}))
	fmt.Println(s.Send(ctx, []driver.Record{{Body: []byte("two")}}))
	// Output:
	// sent but not confirmed: connection cut after the write: broker away
	// <nil>
}
