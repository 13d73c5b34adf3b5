package main

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
)

// An Order is to be charged.
type Order struct {
	ID     int `json:"id"`
	Amount int `json:"amount"`
}

// A Receipt follows from a charged order.
type Receipt struct {
	Order int `json:"order"`
}

// The topics of the service.
var (
	Orders   = wherry.NewTopic("orders", codec.JSON[Order]{})
	Receipts = wherry.NewTopic("receipts", codec.JSON[Receipt]{})
)

var errNothingToCharge = errors.New("nothing to charge")

// A Charge asks the bank for the money.
type Charge func(ctx context.Context, o Order) error

// Billing charges orders and publishes a receipt for each.
type Billing struct {
	*wherry.Consumer
	charge   Charge
	receipts *wherry.Publisher[Receipt]
}

// NewBilling takes any broker that has queues, so that tests bring theirs.
func NewBilling(ctx context.Context, broker driver.Queuer, charge Charge) (*Billing, error) {
	receipts, err := wherry.NewPublisher(ctx, broker, Receipts)
	if err != nil {
		return nil, err
	}
	b := &Billing{charge: charge, receipts: receipts}
	b.Consumer = wherry.Consume(wherry.Queue(broker, Orders), wherry.Func(b.handle),
		wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 4, Delays: []time.Duration{time.Minute, time.Hour}}))
	return b, nil
}

func (b *Billing) handle(ctx context.Context, o Order) error {
	if o.Amount <= 0 {
		return wherry.Permanent(errNothingToCharge)
	}
	if err := b.charge(ctx, o); err != nil {
		return err
	}
	return b.receipts.Publish(ctx, &Receipt{Order: o.ID})
}
