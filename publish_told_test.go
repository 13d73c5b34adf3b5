package wherry_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

var errMute = errors.New("it did not work")

// A muteBroker's senders fail, and do not say what became of the records.
type muteBroker struct {
	*mem.Broker
	limits driver.SendLimits
}

func (b muteBroker) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	s, err := b.Broker.OpenSender(ctx, t)
	return muteSender{Sender: s, limits: b.limits}, err
}

type muteSender struct {
	driver.Sender
	limits driver.SendLimits
}

func (s muteSender) Limits() driver.SendLimits                   { return s.limits }
func (s muteSender) Send(context.Context, []driver.Record) error { return errMute }

// Whatever a driver says, an error of a publish tells whether the message is at the broker, or that it may be.
func TestPublishTellsWhatADriverDoesNot(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]driver.SendLimits{"alone": {}, "joined": {Batch: 10, Overlap: 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := wherry.NewPublisher(t.Context(), muteBroker{Broker: mem.New(mem.Config{}), limits: limits}, texts("t"))
			assert.NoError(t, err)
			text := "one"
			for what, err := range map[string]error{
				"Publish":    p.Publish(t.Context(), &text),
				"PublishAll": p.PublishAll(t.Context(), slices.Values([]*string{&text})),
			} {
				assert.ErrorIs(t, err, errMute)
				assert.True(t, errors.Is(err, wherry.ErrUnconfirmed), what+" says that it may be there")
				assert.True(t, !errors.Is(err, wherry.ErrNotSent), what+" does not say that it is not")
			}
		})
	}
}
