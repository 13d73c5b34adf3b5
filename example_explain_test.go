package wherry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// What a service guarantees can be asked for in a test, so that a change of it is noticed.
func ExampleExplain() {
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	ship := wherry.Func(func(context.Context, string) error { return nil })
	service := wherry.Join(wherry.Consume(wherry.Queue(broker, orders), ship))

	for _, c := range wherry.Explain(service).Consumers {
		fmt.Println(c.Name, "on", c.Broker)
		fmt.Println(c.Delivery.Level)
		for _, s := range c.Retries.Steps {
			fmt.Println("after failure", s.First, s.Shortest, "to", s.Longest)
		}
		fmt.Println("then", c.Retries.DeadLetters)
	}
	// Output:
	// orders on *mem.Broker
	// at least once
	// after failure 1 200ms to 240ms
	// after failure 2 800ms to 960ms
	// after failure 3 3.2s to 3.84s
	// after failure 4 12.8s to 15.36s
	// then orders.dlq
}

// For programs there is JSON.
func ExampleExplanation() {
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	ship := wherry.Func(func(context.Context, string) error { return nil })
	x := wherry.Explain(wherry.Consume(wherry.Queue(broker, orders), ship))

	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(x.Consumers[0].Delivery.Level); err != nil {
		panic(err)
	}
	// Output: "at least once"
}

// inbox is a table of ids in the database that the handlers write to, here in memory.
type inbox struct{ seen map[string]bool }

// A middleware that notes each id in the transaction in which the handler writes makes a message take effect once. It says so,
// since nobody can see it; on a broker that forgets with the process less than that is true, and explain says less.
func ExampleUseDedup() {
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	ship := wherry.Func(func(context.Context, string) error { return nil })
	table := inbox{seen: map[string]bool{}}
	inTransaction := func(next wherry.Next) wherry.Next {
		return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
			// begin; hand the transaction to the handler by ctx
			if table.seen[m.ID()] {
				return wherry.Ack()
			}
			o := next(ctx, m)
			if o.Kind() == wherry.KindAck {
				table.seen[m.ID()] = true // commit, together with what the handler wrote
			}
			return o
		}
	}
	c := wherry.Consume(wherry.Queue(broker, orders), ship, wherry.UseDedup(wherry.DedupWithEffects, inTransaction, nil))
	fmt.Println(wherry.Explain(c).Consumers[0].Delivery.Level)
	// Output: at least once, de-duplicated while this process lives
}
