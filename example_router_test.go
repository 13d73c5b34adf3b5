package wherry_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A package offers its consumers as a router, and the service puts its own options and middleware around it.
func ExampleNewRouter() {
	broker := mem.New(mem.Config{})
	ctx, stop := context.WithCancel(context.Background())
	invoices := wherry.NewTopic("invoices", codec.Text{})
	show := wherry.Func(func(_ context.Context, v string) error {
		fmt.Println("print", v)
		stop()
		return nil
	})
	say := func(name string) wherry.Middleware {
		return func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				fmt.Println(name)
				return next(ctx, m)
			}
		}
	}

	billing := wherry.NewRouter("billing",
		wherry.ShareSingle(wherry.Use(say("billing")), wherry.Concurrency(4)),
		wherry.Mount(wherry.Consume(wherry.Queue(broker, invoices), show)))
	service := wherry.NewRouter("eu",
		wherry.ShareSingle(wherry.Use(say("service"))),
		wherry.Mount(billing))
	fmt.Println(service.Names())

	publisher, err := wherry.NewPublisher(ctx, broker, invoices)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, new("invoice 7")); err != nil {
		panic(err)
	}
	if err := service.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// [eu/billing/invoices]
	// service
	// billing
	// print invoice 7
}

// One consumer is added, paused and stopped by name while the others run.
func ExampleRouter_Stop() {
	broker := mem.New(mem.Config{})
	ignore := wherry.Func(func(context.Context, string) error { return nil })
	consumer := func(topic string) *wherry.Consumer {
		return wherry.Consume(wherry.Queue(broker, wherry.NewTopic(topic, codec.Text{})), ignore)
	}
	router := wherry.NewRouter("tenants", wherry.Mount(consumer("acme")))
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- router.Run(ctx) }()

	if err := router.Add(ctx, consumer("globex")); err != nil {
		panic(err)
	}
	if err := router.Pause("tenants/globex", "has not paid"); err != nil {
		panic(err)
	}
	fmt.Println(router.Names())
	fmt.Println(router.Stop(ctx, "tenants/acme"))
	fmt.Println(router.Names())
	fmt.Println(router.Stop(ctx, "tenants/acme"))
	stop()
	fmt.Println(<-ran)
	// Output:
	// [tenants/acme tenants/globex]
	// <nil>
	// [tenants/globex]
	// wherry: stop tenants/acme: no consumer has this name: there are tenants/globex
	// <nil>
}

// Options that all consumers share, batches with a size of their own, and a router that outlives a consumer that fails.
func ExampleShare() {
	broker := mem.New(mem.Config{})
	topic := wherry.NewTopic("readings", codec.Text{}, wherry.Fanout("alarms", "archive"))
	alarm := wherry.Func(func(context.Context, string) error { return errors.New("no operator") })
	store := func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome { return wherry.Ack() }

	router := wherry.NewRouter("plant",
		wherry.Share(wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3}), wherry.Prefetch(64)),
		wherry.ShareBatch(wherry.BatchSize(50)),
		wherry.KeepRunning(),
		wherry.Mount(
			wherry.Consume(wherry.Group(broker, "alarms", topic), alarm, wherry.Prefetch(8)),
			wherry.ConsumeBatch(wherry.Group(broker, "archive", topic), store)))

	for _, c := range wherry.Explain(router).Consumers {
		fmt.Println(c.Name, c.Retries.MaxAttempts, c.Limits.Prefetch, c.Limits.BatchSize)
	}
	// Output:
	// plant/readings/alarms 3 8 0
	// plant/readings/archive 3 64 50
}
