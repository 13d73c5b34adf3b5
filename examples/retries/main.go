// Command retries tries failed payments again, gives up the hopeless one, looks at the dead letters, and redrives them
// once the cause is mended.
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
)

// Payment is what travels.
type Payment struct {
	ID   int    `json:"id"`
	Card string `json:"card"`
}

// Payments says how often and when a failed payment is tried again.
var Payments = wherry.NewTopic("payments", codec.JSON[Payment]{}, wherry.RetryWith(wherry.RetryPolicy{
	MaxAttempts: 5,
	Delays:      []time.Duration{20 * time.Millisecond, 40 * time.Millisecond},
}))

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, Payments)
	if err != nil {
		return err
	}
	for _, p := range []Payment{{1, "4000-0000"}, {2, "unknown"}} {
		if err := publisher.Publish(ctx, &p); err != nil {
			return err
		}
	}

	g := &gateway{cards: map[string]bool{"4000-0000": true}}
	if err := g.serve(ctx, broker, 1); err != nil {
		return err
	}

	// A look shows each of them once and moves nothing.
	for m, err := range wherry.PeekDeadLetters(ctx, broker, Payments) {
		if err != nil {
			return err
		}
		letter := m.Value
		fmt.Printf("dead letter: payment %d, %s: %s\n", letter.Value.ID, letter.Reason, letter.LastError)
	}

	g.cards["unknown"] = true
	done, err := wherry.Redrive(ctx, broker, Payments)
	if err != nil {
		return err
	}
	fmt.Println("redriven:", done.Moved)
	return g.serve(ctx, broker, 2)
}

// A gateway charges cards, when it is up.
type gateway struct {
	cards map[string]bool
	calls int
}

// serve consumes until the payment with the given id is paid.
func (g *gateway) serve(ctx context.Context, broker *mem.Broker, last int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	return wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, Payments),
		func(_ context.Context, m *wherry.Message[Payment]) wherry.Outcome {
			err := g.charge(m.Value)
			fmt.Printf("payment %d, attempt %d: %v\n", m.Value.ID, m.Attempt(), result(err))
			switch {
			case errors.Is(err, errNoCard):
				return wherry.Reject(err)
			case err != nil:
				return wherry.Retry(err)
			}
			if m.Value.ID == last {
				stop()
			}
			return wherry.Ack()
		}))
}

var (
	errNoCard = errors.New("no such card")
	errDown   = errors.New("gateway is down")
)

// charge works from the fourth call on.
func (g *gateway) charge(p Payment) error {
	g.calls++
	switch {
	case !g.cards[p.Card]:
		return errNoCard
	case g.calls < 4:
		return errDown
	default:
		return nil
	}
}

func result(err error) string {
	if err != nil {
		return err.Error()
	}
	return "paid"
}
