package wherry_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// losing extends no lease of one message, once, whose lease then ends.
type losing struct {
	*mem.Broker
	body string
	lost *atomic.Bool
}

func (b losing) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.Broker.OpenQueue(ctx, s)
	if e, ok := r.(driver.Extender); ok && err == nil {
		return losingReceiver{r, e, b}, nil
	}
	return r, err
}

type losingReceiver struct {
	driver.Receiver
	extender driver.Extender
	of       losing
}

func (r losingReceiver) Extend(ctx context.Context, batch []*driver.Delivery) error {
	i := slices.IndexFunc(batch, func(d *driver.Delivery) bool { return string(d.Body) == r.of.body })
	if i < 0 || r.of.lost.Swap(true) {
		return r.extender.Extend(ctx, batch)
	}
	errs := make([]error, len(batch))
	for k := range batch {
		if errs[k] = driver.ErrRevoked; k != i {
			errs[k] = r.extender.Extend(ctx, batch[k:k+1])
		}
	}
	return &driver.BatchError{Errs: errs}
}

// A batch of which one lease is lost: its handler's context ends, and what it decided of the others stands, but for the failures that
// come of that, which spend no attempt.
func TestLostLeaseLeavesTheRestOfItsBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := losing{mem.New(mem.Config{Lease: 3 * time.Second, Poison: true}), `{"id":0}`, new(atomic.Bool)}
		defer b.Close(context.Background())
		sender, err := b.OpenSender(t.Context(), driver.Target{Topic: driver.Topic{Name: orders.Name()}})
		assert.NoError(t, err)
		assert.NoError(t, sender.Send(t.Context(), []driver.Record{
			{Body: []byte(`{"id":0}`)}, {Body: []byte(`{"id":1}`)}, {Body: []byte(`{"id":2}`)}, {Body: []byte(`{"id":3}`)},
		}))
		var ev events
		attempts := map[int][]int{}
		run := start(t, wherry.ConsumeBatch(wherry.Queue(b, orders), func(ctx context.Context, mb *wherry.MessageBatch[order]) wherry.Outcome {
			first := len(attempts) == 0
			for _, m := range mb.All() {
				attempts[m.Value.ID] = append(attempts[m.Value.ID], m.Attempt())
			}
			if !first {
				return wherry.Ack()
			}
			mb.Set(0, wherry.Reject(errors.New("bad, but another's")))
			mb.Set(1, wherry.Reject(errors.New("bad")))
			mb.Set(2, wherry.Defer(time.Second))
			<-ctx.Done()
			assert.ErrorIs(t, context.Cause(ctx), wherry.ErrRevoked)
			return wherry.Retry(context.Cause(ctx))
		}, wherry.BatchSize(4), wherry.OnEvent(ev.record), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
		time.Sleep(time.Minute)
		run.mustEnd()
		assert.NoError(t, sender.Close(t.Context()))
		assert.True(t, b.lost.Load(), "a lease was lost")
		assert.Equal(t, attempts, map[int][]int{0: {1, 1}, 1: {1}, 2: {1, 1}, 3: {1, 1}})
		assert.Equal(t, len(eventsOf[*wherry.Deferred](&ev)), 1)
		dead := collectDead(t, b.Broker, wherry.DeadLetters(orders))
		assert.True(t, len(dead) == 1 && dead[0].Value.Value.ID == 1, "what was rejected and not lost is a dead letter")
	})
}
