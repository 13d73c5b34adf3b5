// Command middleware wraps a handler: one middleware of its own, and three that come with the toolkit.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

// Orders are the names of what was ordered.
var Orders = wherry.NewTopic("orders", codec.Text{})

// The tenant of a message travels in a header, and in the context of its handler.
const tenantHeader = "tenant"

type tenantKey struct{}

var errNoTenant = errors.New("the message names no tenant")

// withTenant rejects messages without a tenant. A middleware is called once for each lane when the consumer starts; what
// it returns is called for each message.
func withTenant(next wherry.Next) wherry.Next {
	return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
		tenant, ok := m.Headers().Lookup(tenantHeader)
		if !ok {
			return wherry.Reject(errNoTenant)
		}
		return next(context.WithValue(ctx, tenantKey{}, tenant), m)
	}
}

// told prints what became of each message, whatever decided it.
func told(next wherry.Next) wherry.Next {
	return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
		o := next(ctx, m)
		fmt.Printf("%s: %v\n", m.Body(), o)
		return o
	}
}

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	broker := mem.New(mem.Config{})
	if err := publish(ctx, broker); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	handler := func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
		switch m.Value {
		case "vase":
			panic("dropped it")
		case "bell":
			stop()
		}
		fmt.Printf("packing a %s for %v\n", m.Value, ctx.Value(tenantKey{}))
		return wherry.Ack()
	}
	return wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, Orders), handler,
		// The first is the outermost: it sees a message first and its outcome last.
		wherry.Use(told, withTenant),
		middleware.Recover(func(_ context.Context, _ wherry.AnyMessage, p *wherry.PanicError) wherry.Outcome {
			return wherry.Reject(p)
		}),
		middleware.Throttle(middleware.Rate{Messages: 100}),
		middleware.Timeout(time.Second),
	))
}

func publish(ctx context.Context, broker *mem.Broker) error {
	publisher, err := wherry.NewPublisher(ctx, broker, Orders)
	if err != nil {
		return err
	}
	north := wherry.WithHeader(tenantHeader, "north")
	return errors.Join(
		publisher.Publish(ctx, new("lamp"), north),
		publisher.Publish(ctx, new("chair")),
		publisher.Publish(ctx, new("vase"), north),
		publisher.Publish(ctx, new("bell"), north),
	)
}
