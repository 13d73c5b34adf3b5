package demo

import (
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/cmd/wherry/internal/ledger"
)

// A desk is where orders are handed over to the broker, each with an account in the ledger. It is for one goroutine.
type desk struct {
	orders *wherry.Publisher[Order]
	lines  *wherry.Publisher[[]byte]
	ledger *ledger.Ledger
	fault  *faultPlan
	count  int
}

// openDesk opens the publishers.
func openDesk(ctx context.Context, s *service, orders wherry.Topic[Order]) (*desk, error) {
	d := &desk{ledger: s.ledger, fault: &s.fault}
	var err error
	if d.orders, err = wherry.NewPublisher(ctx, s.broker, orders, wherry.ExactStamps()); err != nil {
		return nil, err
	}
	d.lines, err = wherry.NewPublisher(ctx, s.broker, linesTopic(), wherry.ExactStamps())
	return d, err
}

// order publishes an order.
func (d *desk) order(ctx context.Context, o *Order) error {
	return d.account(func(id string) error { return d.orders.Publish(ctx, o, wherry.WithID(id)) })
}

// line publishes a line of the input with its number.
func (d *desk) line(ctx context.Context, l inputLine) error {
	return d.account(func(id string) error {
		return d.lines.Publish(ctx, &l.text, wherry.WithID(id), wherry.WithHeader(lineHeader, strconv.Itoa(l.number)))
	})
}

func (d *desk) account(publish func(id string) error) error {
	d.count++
	d.fault.before(d.count)
	id := d.ledger.Next()
	if err := publish(id); err != nil {
		d.ledger.Withdrawn(id)
		return err
	}
	d.ledger.Published(id)
	return nil
}

// close closes both publishers.
func (d *desk) close(ctx context.Context) error {
	return errors.Join(d.orders.Close(ctx), d.lines.Close(ctx))
}

// make publishes orders that are made up until ctx ends, which is no error. sending is for the publishes: the last one is
// not cut short.
func (d *desk) make(ctx, sending context.Context, p *pace) error {
	book := newOrderBook(1)
	for p.wait(ctx) {
		o := book.next()
		if err := d.order(sending, &o); err != nil {
			return err
		}
	}
	return nil
}

// copy publishes the lines of an input until its end or that of ctx, which are no errors.
func (d *desk) copy(ctx, sending context.Context, in *Input, p *pace) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	lines := in.lines(reading)
	for p.wait(ctx) {
		select {
		case l := <-lines:
			switch {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return l.err
			}
			if err := d.line(sending, l); err != nil {
				return err
			}
		case <-ctx.Done():
		}
	}
	return nil
}

// maxBehind is how far a pace that was held up catches up on.
const maxBehind = time.Second

// A pace says when the next order is due. It is for one goroutine.
type pace struct {
	every time.Duration // 0 is as fast as it goes
	next  time.Time
}

// newPace returns a pace of so many orders a second, 0 being as fast as it goes, the first of which is due now.
func newPace(perSecond int) *pace {
	p := &pace{next: time.Now()}
	if perSecond > 0 {
		p.every = time.Second / time.Duration(perSecond)
	}
	return p
}

// wait waits until the next order is due, and returns false when ctx ends first.
func (p *pace) wait(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	if end, ok := ctx.Deadline(); ok && !p.next.Before(end) {
		<-ctx.Done()
		return false
	}
	late := time.Since(p.next)
	if late < 0 && wait(ctx, -late) != nil {
		return false
	}
	if late > maxBehind {
		p.next = p.next.Add(late)
	}
	p.next = p.next.Add(p.every)
	return true
}
