package drivertest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A crowd is a number of senders and receivers at work on one line, with the ledger of it.
type crowd struct {
	t       *T
	ledger  Ledger
	name    string // of the consumer
	stop    context.CancelFunc
	ctx     context.Context
	wg      sync.WaitGroup
	came    atomic.Int64
	lenient bool // errors of Send and Settle are expected
}

func (t *T) crowd() *crowd {
	c := &crowd{t: t, name: "all"}
	c.ctx, c.stop = context.WithCancel(context.Background())
	t.Cleanup(func() { c.stop(); c.wg.Wait() })
	return c
}

// consume receives with r, a few at a time, and settles each as done, until the crowd is stopped.
func (c *crowd) consume(r *receiver) {
	const most = 16
	c.wg.Go(func() {
		for c.ctx.Err() == nil {
			ds, err := r.once(c.ctx, most)
			for _, d := range ds {
				c.ledger.Seen(c.name, d.ID.String())
			}
			if c.tooMany(len(ds)) {
				return
			}
			c.settle(r, ds)
			if r.fatal(err) {
				return
			}
		}
	})
}

// tooMany fails the case and stops the crowd when many times more came than was sent: a driver that never ends a message
// would keep a bubble busy for ever.
func (c *crowd) tooMany(n int) bool {
	most := int64(20*c.t.h.Messages + 1000)
	if c.came.Add(int64(n)) <= most {
		return false
	}
	c.t.Errorf("more than %d deliveries came of %d messages", most, c.t.h.Messages)
	c.stop()
	return true
}

// settle settles ds, again and again where an entry may be tried again.
func (c *crowd) settle(r *receiver, ds []*driver.Delivery) {
	for limit := time.Now().Add(c.t.h.Wait); len(ds) > 0; {
		ctx, cancel := context.WithTimeout(context.Background(), c.t.h.Wait)
		names := ids(ds)
		err := r.settle(ctx, settlements(driver.Done, ds...)...)
		cancel()
		var again []*driver.Delivery
		for i, d := range ds {
			switch entry := driver.EntryError(err, i); {
			case entry == nil:
				c.ledger.settledLate(c.name, names[i])
			case errors.Is(entry, driver.ErrRevoked), errors.Is(entry, driver.ErrClosed):
			default:
				again = append(again, d)
			}
		}
		if err != nil && !c.lenient {
			c.t.Errorf("Settle: %v", err)
			return
		}
		if ds = again; len(ds) > 0 {
			if time.Now().After(limit) {
				c.t.Errorf("Settle: still failing after %v: %v", c.t.h.Wait, err)
				return
			}
			c.t.pause(20 * time.Millisecond)
		}
	}
}

// send sends records, some in each call, and notes what became of each. Where errors are expected, a record that was
// not sent, or perhaps not, is sent again as the engine does it, until it is confirmed.
func (c *crowd) send(s *sender, records []driver.Record) {
	const most = 5
	for i := range records {
		c.ledger.Sending(records[i].ID.String(), string(records[i].Key))
	}
	for len(records) > 0 && c.ctx.Err() == nil {
		part := s.parts(records[:min(most, len(records))])[0]
		ctx, cancel := context.WithTimeout(c.ctx, c.t.h.Wait)
		err := s.try(ctx, part...)
		cancel()
		if err != nil && !c.lenient {
			c.t.Errorf("Send: %v", err)
			return
		}
		if err != nil {
			c.t.pause(20 * time.Millisecond)
			continue
		}
		for i := range part {
			c.ledger.Sent(part[i].ID.String(), nil)
		}
		records = records[len(part):]
	}
}

// finish waits until all that was sent was settled, stops the receivers, and returns the account.
func (c *crowd) finish() Report {
	left := c.ledger.Outstanding(c.name)
	for since := time.Now(); left > 0 && time.Since(since) < c.t.h.Wait; c.t.pause(c.t.h.Wait / 500) {
		if now := c.ledger.Outstanding(c.name); now < left {
			left, since = now, time.Now()
		}
	}
	c.t.pause(c.t.h.Quiet)
	c.stop()
	c.wg.Wait()
	return c.ledger.Report(c.name)
}
