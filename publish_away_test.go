package wherry_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// An absent broker is away for the first calls of Send, and does not wait for itself to come back.
type absent struct {
	*mem.Broker
	batch int
	calls atomic.Int32
}

func (a *absent) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	s, err := a.Broker.OpenSender(ctx, t)
	return &absentSender{Sender: s, a: a}, err
}

type absentSender struct {
	driver.Sender
	a *absent
}

func (s *absentSender) Limits() driver.SendLimits { return driver.SendLimits{Batch: s.a.batch} }

func (s *absentSender) Send(ctx context.Context, batch []driver.Record) error {
	if s.a.calls.Add(1) < 4 {
		return fmt.Errorf("%w: %w", driver.ErrNotSent, driver.ErrDisconnected)
	}
	return s.Sender.Send(ctx, batch)
}

// TestPublishOutlastsAnAbsence publishes alone and joined: what certainly was not sent is tried again, under the same id,
// until the broker is back.
func TestPublishOutlastsAnAbsence(t *testing.T) {
	t.Parallel()
	for name, batch := range map[string]int{"alone": 1, "joined": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &absent{Broker: newMem(t), batch: batch}
				p, err := wherry.NewPublisher(t.Context(), b, orders)
				assert.NoError(t, err)
				assert.NoError(t, p.Publish(t.Context(), &order{ID: 1}))
				assert.Equal(t, b.calls.Load(), 4)
				assert.NoError(t, p.Close(t.Context()))
			})
		})
	}
}
