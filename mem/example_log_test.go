package mem_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// Of three orders the second is finished first. What the broker keeps says so, and after a crash it does not come again.
func ExampleNewLog() {
	ctx := context.Background()
	b := mem.NewLog(mem.LogConfig{Partitions: 1})
	defer func() { _ = b.Close(ctx) }()

	orders := driver.Topic{Name: "orders"}
	s, err := b.OpenSender(ctx, driver.Target{Topic: orders})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Send(ctx, []driver.Record{{Body: []byte("anna")}, {Body: []byte("bert")}, {Body: []byte("cleo")}}); err != nil {
		fmt.Println(err)
		return
	}
	receive := func() (driver.Receiver, []*driver.Delivery) {
		r, err := b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{orders}, Prefetch: 8})
		if err != nil {
			fmt.Println(err)
			return nil, nil
		}
		ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 8))
		if err != nil {
			fmt.Println(err)
		}
		for _, d := range ds {
			fmt.Printf("%d %s\n", d.Token.A, d.Body)
		}
		return r, ds
	}

	r, ds := receive()
	if err := r.Settle(ctx, []driver.Settlement{{Delivery: ds[1], Verdict: driver.Done}}); err != nil {
		fmt.Println(err)
	}
	p := b.Positions("orders", "")[0]
	fmt.Printf("commit %d of %d, and %q\n", p.Commit, p.End, p.State)
	if err := b.Faults().Crash(r); err != nil {
		fmt.Println(err)
	}
	receive()
	// Output:
	// 0 anna
	// 1 bert
	// 2 cleo
	// commit 0 of 3, and "gap1AA57AwqC"
	// 0 anna
	// 2 cleo
}

func ExampleLogBroker_Lost() {
	ctx := context.Background()
	b := mem.NewLog(mem.LogConfig{Partitions: 1, MaxMessages: 2, DropOldest: true})
	defer func() { _ = b.Close(ctx) }()

	orders := driver.Topic{Name: "orders"}
	s, err := b.OpenSender(ctx, driver.Target{Topic: orders})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Send(ctx, []driver.Record{{Body: []byte("anna")}, {Body: []byte("bert")}, {Body: []byte("cleo")}}); err != nil {
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
	fmt.Printf("%d came, the first is %s, %d lost\n", len(ds), ds[0].Body, b.Lost("orders", ""))
	// Output:
	// 2 came, the first is bert, 1 lost
}
