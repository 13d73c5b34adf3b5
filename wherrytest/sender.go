package wherrytest

import (
	"context"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A sender writes down what is sent.
type sender struct {
	driver.Sender
	ledger *ledger
	target driver.Target
}

// Send notes what is sent, and what became of it.
func (s *sender) Send(ctx context.Context, batch []driver.Record) error {
	return s.send(ctx, batch, s.Sender.Send)
}

// send writes a batch down before it is sent, since a delivery may be settled before Send returns, and corrects the books
// by the result.
func (s *sender) send(
	ctx context.Context, batch []driver.Record, send func(context.Context, []driver.Record) error,
) error {
	notes := s.ledger.sending(s.target, batch)
	err := send(ctx, batch)
	s.ledger.sent(notes, err)
	return err
}

// A holder is a sender to a broker that can delay.
type holder struct {
	*sender
	inner driver.Holder
}

// SendAt sends records that become visible at their Due.
func (h *holder) SendAt(ctx context.Context, batch []driver.Record) error {
	return h.send(ctx, batch, h.inner.SendAt)
}

// MaxHold is the longest delay that the broker takes.
func (h *holder) MaxHold() time.Duration { return h.inner.MaxHold() }
