package mem_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func ExampleBroker_OpenSequence() {
	ctx := context.Background()
	b := mem.New(mem.Config{})
	defer func() { _ = b.Close(ctx) }()
	orders := driver.Topic{Name: "orders", Keyed: true}
	s, err := b.OpenSender(ctx, driver.Target{Topic: orders})
	if err != nil {
		fmt.Println(err)
		return
	}
	source := driver.Source{Topics: []driver.Topic{orders}, Prefetch: 8}
	one, err := b.OpenSequence(ctx, source)
	if err != nil {
		fmt.Println(err)
		return
	}
	two, err := b.OpenSequence(ctx, source)
	if err != nil {
		fmt.Println(err)
		return
	}
	send := func(key, body string) {
		if err := s.Send(ctx, []driver.Record{{Key: []byte(key), Body: []byte(body)}}); err != nil {
			fmt.Println(err)
		}
	}
	receive := func(name string, r driver.Receiver) {
		ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 8))
		if err != nil {
			fmt.Println(err)
		}
		for _, d := range ds {
			fmt.Println(name, "has", string(d.Body))
		}
	}

	send("anna", "anna's first")
	receive("one", one)
	send("anna", "anna's second")
	send("bert", "bert's first")
	receive("two", two) // anna's key is with the other
	_ = one.Close(ctx)  // what it did not settle comes again, before what is later
	receive("two", two)
	// Output:
	// one has anna's first
	// two has bert's first
	// two has anna's first
	// two has anna's second
}

func ExampleBroker_OpenBroadcast() {
	ctx := context.Background()
	b := mem.New(mem.Config{MaxBroadcast: 2})
	defer func() { _ = b.Close(ctx) }()
	prices := driver.Topic{Name: "prices", Fanout: true}
	r, err := b.OpenBroadcast(ctx, driver.Source{Topics: []driver.Topic{prices}, Prefetch: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := b.OpenSender(ctx, driver.Target{Topic: prices})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, price := range []string{"10", "11", "12", "13"} {
		if err := s.Send(ctx, []driver.Record{{Body: []byte(price)}}); err != nil { // it waits for no reader
			fmt.Println(err)
		}
	}
	ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 8))
	if err != nil {
		fmt.Println(err)
	}
	for _, d := range ds {
		fmt.Println(string(d.Body))
	}
	fmt.Println("missed:", b.Missed("prices"))
	// Output:
	// 12
	// 13
	// missed: 2
}
