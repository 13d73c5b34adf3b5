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

var errBankAway = errors.New("bank away")

// A policy says how often and when. It may be the topic's or the consumer's, whose policy replaces the topic's.
func ExampleRetryWith() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	payments := wherry.NewTopic("payments", codec.Text{}, wherry.RetryWith(wherry.RetryPolicy{
		MaxAttempts: 3,
		Delays:      []time.Duration{time.Millisecond, 2 * time.Millisecond},
		Jitter:      wherry.NoJitter,
		// A bank that is away is asked for longer than a payment that it refused.
		ForError: func(err error) *wherry.RetryPolicy {
			if errors.Is(err, errBankAway) {
				return &wherry.RetryPolicy{MaxAttempts: 5, First: time.Millisecond, Factor: 1}
			}
			return nil
		},
	}))
	publisher, err := wherry.NewPublisher(ctx, broker, payments)
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"refused", "away"} {
		if err := publisher.Publish(ctx, &text); err != nil {
			panic(err)
		}
	}
	pay := func(_ context.Context, text string) error {
		if text == "away" {
			return errBankAway
		}
		return errors.New(text)
	}
	consumer := wherry.Consume(wherry.Queue(broker, payments), wherry.Func(pay), wherry.OnEvent(func(e wherry.Event) {
		if dead, ok := e.(*wherry.DeadLettered); ok {
			fmt.Printf("%s after %d attempts: %v\n", dead.Reason, dead.Attempts, dead.Err)
			stop()
		}
	}))
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// exhausted after 3 attempts: refused
	// exhausted after 5 attempts: bank away
}
