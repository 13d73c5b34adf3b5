package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
)

// An Order moves money from one account to another.
type Order struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Amount   int    `json:"amount"`
	Currency string `json:"currency"`
}

// A Movement changes one account.
type Movement struct {
	Account string `json:"account"`
	Amount  int    `json:"amount"` // in the bank's own currency
}

// A Rate is what one unit of a currency is worth.
type Rate struct {
	Currency string `json:"currency"`
	Worth    int    `json:"worth"`
}

// The topics of the bank. The movements of an account are in order, and every process hears of every rate.
var (
	Orders    = wherry.NewTopic("orders", codec.JSON[Order]{})
	Movements = wherry.NewKeyedTopic("movements", codec.JSON[Movement]{},
		func(dst []byte, m *Movement) []byte { return append(dst, m.Account...) })
	Rates = wherry.NewTopic("rates", codec.JSON[Rate]{}, wherry.Fanout())
)

// Broker is what the bank needs of a broker.
type Broker interface {
	driver.Transactor
	driver.Sequencer
	driver.Broadcaster
}

// A Book is where movements end up, such as a database.
type Book func(ctx context.Context, m Movement) error

// patient is the retry policy of the bank.
var patient = wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Minute, time.Hour}})

var errNoRate = errors.New("no rate of the currency is known")

// A Bank is one process of the service.
type Bank struct {
	broker    Broker
	book      Book
	movements *wherry.TxPublisher[Movement]

	mu    sync.Mutex // guards the field below
	rates map[string]int
}

// NewBank makes a bank that does nothing until its consumers run.
func NewBank(broker Broker, book Book) *Bank {
	return &Bank{broker: broker, book: book, movements: wherry.NewTxPublisher(Movements), rates: map[string]int{"EUR": 1}}
}

// Consumers are to be given to wherry.Run together.
func (b *Bank) Consumers() []wherry.Runner {
	return []wherry.Runner{
		wherry.Consume(wherry.Broadcast(b.broker, Rates), wherry.Func(b.learn)),
		wherry.Consume(wherry.Transacted(b.broker, Orders, wherry.Publishing(b.movements)), wherry.Func(b.clear), patient),
		wherry.Consume(wherry.Sequence(b.broker, Movements, wherry.OnFailure(wherry.Park)), wherry.Func(b.book), patient,
			wherry.Concurrency(8)),
	}
}

// learn keeps a rate in the memory of this process.
func (b *Bank) learn(_ context.Context, r Rate) error {
	if r.Worth <= 0 {
		return wherry.Permanent(fmt.Errorf("%s is worth %d", r.Currency, r.Worth))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rates[r.Currency] = r.Worth
	return nil
}

// Worth is what a currency is worth as far as this process knows; 0 is not known.
func (b *Bank) Worth(currency string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rates[currency]
}

// clear makes two movements of an order. Both are published with the settlement of the order, or none is.
func (b *Bank) clear(ctx context.Context, o Order) error {
	worth := b.Worth(o.Currency)
	if worth == 0 {
		return errNoRate
	}
	if err := b.movements.Publish(ctx, &Movement{o.From, -o.Amount * worth}); err != nil {
		return err
	}
	return b.movements.Publish(ctx, &Movement{o.To, o.Amount * worth})
}
