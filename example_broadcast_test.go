package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

var settingsChanged = wherry.NewTopic("settings", codec.Text{}, wherry.Fanout())

// Every process of a service hears of each change, as long as it runs.
func ExampleBroadcast() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	heard, listens := make(chan string, 2), make(chan struct{}, 2)
	cache := func() *wherry.Consumer {
		return wherry.Consume(wherry.Broadcast(broker, settingsChanged), wherry.Func(func(_ context.Context, name string) error {
			heard <- name
			return nil
		}), wherry.OnEvent(func(e wherry.Event) {
			if _, ok := e.(*wherry.Started); ok {
				listens <- struct{}{}
			}
		}))
	}
	one, two := cache(), cache() // as in two processes
	done := make(chan error, 1)
	go func() { done <- wherry.Run(ctx, one, two) }()
	<-listens
	<-listens
	publisher, err := wherry.NewPublisher(ctx, broker, settingsChanged)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("limits")); err != nil {
		panic(err)
	}
	fmt.Println(<-heard, <-heard)
	stop()
	if err := <-done; err != nil {
		panic(err)
	}
	// Output: limits limits
}

// A reader may begin with the history that its broker keeps. The in-process queues keep none, and say so at start.
func ExampleFromHead() {
	broker := mem.New(mem.Config{})
	fine := wherry.Func(func(context.Context, string) error { return nil })
	err := wherry.Run(context.Background(), wherry.Consume(wherry.Broadcast(broker, settingsChanged, wherry.FromHead()), fine))
	fmt.Println(errors.Is(err, errors.ErrUnsupported))
	// Output: true
}

// A reader may begin with what was published since a time, where its broker keeps that.
func ExampleFromTime() {
	broker := mem.New(mem.Config{})
	fine := wherry.Func(func(context.Context, string) error { return nil })
	today := wherry.FromTime(time.Now().Truncate(24 * time.Hour))
	err := wherry.Run(context.Background(), wherry.Consume(wherry.Broadcast(broker, settingsChanged, today), fine))
	fmt.Println(errors.Is(err, errors.ErrUnsupported))
	// Output: true
}
