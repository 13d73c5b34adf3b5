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

type (
	payment  struct{ ID, Amount int }
	payments struct{ asked int }
)

var (
	errAway     = errors.New("bank away")
	errNotReady = errors.New("not booked yet")
	errRefused  = errors.New("card refused")
)

// charge is away, then not ready, and then refuses what is too much.
func (p *payments) charge(_ context.Context, pay payment) error {
	p.asked++
	switch {
	case p.asked == 1:
		return errAway
	case p.asked == 2:
		return errNotReady
	case pay.Amount > 100:
		return errRefused
	}
	return nil
}

// docs/settling.md shows parts of this.
func Example_docsSettling() {
	ctx, stop := context.WithCancel(context.Background())
	broker := mem.New(mem.Config{})
	bank := &payments{}

	topic := wherry.NewTopic("payments", codec.JSON[payment]{}, wherry.RetryWith(wherry.RetryPolicy{
		MaxAttempts: 8,
		First:       time.Millisecond,
		Max:         time.Second,
	}))
	publisher, err := wherry.NewPublisher(ctx, broker, topic)
	if err != nil {
		panic(err)
	}
	if err := publisher.Publish(ctx, &payment{ID: 1, Amount: 250}); err != nil {
		panic(err)
	}

	pay := func(ctx context.Context, m *wherry.Message[payment]) wherry.Outcome {
		err := bank.charge(ctx, m.Value)
		switch {
		case err == nil:
			return wherry.Ack()
		case errors.Is(err, errNotReady):
			return wherry.Defer(100 * time.Millisecond) // nothing failed
		case errors.Is(err, errRefused):
			return wherry.Reject(err) // trying again is pointless
		default:
			return wherry.Retry(err)
		}
	}

	mourn := func(_ context.Context, m *wherry.Message[wherry.DeadLetter[payment]]) wherry.Outcome {
		dead := m.Value
		fmt.Println(dead.Value.ID, dead.Reason, "after", dead.Attempts, "failed calls:", dead.LastError)
		stop()
		return wherry.Ack()
	}
	undertaker := wherry.Consume(wherry.Queue(broker, wherry.DeadLetters(topic)), mourn)
	if err := wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, topic), pay), undertaker); err != nil {
		panic(err)
	}
	// Output: 1 rejected after 2 failed calls: card refused
}

func Example_docsRedrive() {
	ctx := context.Background()
	broker := mem.New(mem.Config{})
	topic := wherry.NewTopic("payments", codec.JSON[payment]{})

	redriven, err := wherry.Redrive(ctx, broker, topic,
		wherry.RedriveReason(wherry.ReasonExhausted), wherry.RedriveLimit(100))
	fmt.Println(redriven.Moved, "moved,", redriven.Passed, "left there,", err)
	// Output: 0 moved, 0 left there, <nil>
}

func Example_docsPeek() {
	ctx := context.Background()
	broker := mem.New(mem.Config{})
	topic := wherry.NewTopic("payments", codec.JSON[payment]{})
	show := func() error {
		for m, err := range wherry.PeekDeadLetters(ctx, broker, topic, wherry.RedriveLimit(100)) {
			if err != nil {
				return err
			}
			fmt.Println(m.ID(), m.Value.Reason, m.Value.LastError)
		}
		return nil
	}
	fmt.Println(show())
	// Output: <nil>
}
