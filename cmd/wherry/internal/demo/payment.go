package demo

import (
	"context"
	"errors"
	"hash/fnv"
	"time"

	"github.com/wherryhq/wherry"
)

var errBankBusy = errors.New("the bank is busy")

// pay is the handler of payment. What the bank is too busy for is tried again.
func pay(ctx context.Context, m *wherry.Message[Order]) wherry.Outcome {
	if err := charge(ctx, &m.Value, m.Attempt()); err != nil {
		return wherry.Retry(err)
	}
	return wherry.Ack()
}

// paymentRetries is a short ladder: three attempts in half a second, then the dead letters.
func paymentRetries() wherry.RetryPolicy {
	return wherry.RetryPolicy{
		MaxAttempts: 3,
		Delays:      []time.Duration{100 * time.Millisecond, 300 * time.Millisecond},
	}
}

// charge asks the bank, which takes a few milliseconds. The bank is busy at the first attempt of eight orders in a
// hundred, at the second too of three of them, and for one at every attempt. Which these are depends on the order's id alone.
func charge(ctx context.Context, o *Order, attempt int) error {
	h := fnv.New32a()
	_, _ = h.Write([]byte(o.ID))
	luck := h.Sum32() % 100
	if err := wait(ctx, time.Duration(1+luck%4)*time.Millisecond); err != nil {
		return err
	}
	switch {
	case luck < 1, luck < 3 && attempt <= 2, luck < 8 && attempt <= 1:
		return errBankBusy
	default:
		return nil
	}
}

// wait waits for d, or for the end of ctx, whose cause it returns.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
