package wherry_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A meeting is a broker whose first two settlements wait for each other.
type meeting struct {
	*mem.Broker
	settling  atomic.Int32
	both      chan struct{}
	receiving atomic.Int32
	crowded   atomic.Bool
}

func (m *meeting) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := m.Broker.OpenQueue(ctx, s)
	return &meetingReceiver{Receiver: r, m: m}, err
}

type meetingReceiver struct {
	driver.Receiver
	m *meeting
}

func (r *meetingReceiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	switch r.m.settling.Add(1) {
	case 1:
		select {
		case <-r.m.both:
		case <-time.After(time.Second):
		}
	case 2:
		close(r.m.both)
	}
	return r.Receiver.Settle(ctx, batch)
}

func (r *meetingReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	if r.m.receiving.Add(1) > 1 {
		r.m.crowded.Store(true)
	}
	defer r.m.receiving.Add(-1)
	return r.Receiver.Receive(ctx, dst)
}

// TestOneLaneReceives has two lanes give up the worker's lock at the same time, to settle what uses up the credit. Only
// one of them may receive afterwards: two would overwrite each other's buffer.
func TestOneLaneReceives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &meeting{Broker: newMem(t), both: make(chan struct{})}
		publish(t, b.Broker, orders, order{ID: 1}, order{ID: 2})
		var inHand sync.WaitGroup
		inHand.Add(2)
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			inHand.Done()
			inHand.Wait()
			return wherry.Ack()
		}, wherry.Concurrency(2), wherry.Prefetch(2)))
		synctest.Wait()
		assert.True(t, !b.crowded.Load(), "one lane receives")
		assert.Equal(t, b.settling.Load(), 2)
		r.mustEnd()
	})
}
