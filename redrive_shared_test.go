package wherry_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// TestRedriveOfSharedDeadLetters has two topics, and two groups of a third, give up into one dead-letter topic. Each redrive
// moves its own and leaves the others.
func TestRedriveOfSharedDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		shared := wherry.DeadLetterTo("graveyard")
		bills := wherry.NewTopic("bills", codec.JSON[order]{}, shared)
		refunds := wherry.NewTopic("refunds", codec.JSON[order]{}, shared)
		news := wherry.NewTopic("news", codec.JSON[order]{}, wherry.Fanout("mail", "web"), shared)

		var seen calls
		mended := false
		handler := func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if !mended {
				return wherry.Reject(nil)
			}
			seen.add("%s %s %d", m.Topic(), m.Group(), m.Value.ID)
			return wherry.Ack()
		}
		consumers := []wherry.Runner{
			wherry.Consume(wherry.Queue(b, bills), handler),
			wherry.Consume(wherry.Queue(b, refunds), handler),
			wherry.Consume(wherry.Group(b, "mail", news), handler),
			wherry.Consume(wherry.Group(b, "web", news), handler),
		}
		publish(t, b, bills, order{ID: 1})
		publish(t, b, refunds, order{ID: 2})
		publish(t, b, news, order{ID: 3})
		r := start(t, consumers...)
		synctest.Wait()
		r.mustEnd()

		mended = true
		got, err := wherry.Redrive(t.Context(), b, refunds)
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: 1, Passed: 3})
		got, err = wherry.Redrive(t.Context(), b, news, wherry.RedriveGroup("web"))
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: 1, Passed: 2})
		for _, c := range consumers {
			r := start(t, c)
			synctest.Wait()
			r.mustEnd()
		}
		assert.Equal(t, seen.all(), []string{"refunds  2", "news web 3"})
	})
}

// Where a broker grants credit, a redrive that passes over more than a batch comes to what is behind.
func TestRedrivePassesOverMoreThanABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Weak: mem.Weak{CreditPerQueue: 1000}})
		defer b.Close(context.Background())
		const rejected, exhausted = 100, 10
		for id := range rejected + exhausted {
			publish(t, b, orders, order{ID: id})
		}
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID < rejected {
				return wherry.Reject(nil)
			}
			return wherry.Retry(nil)
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
		synctest.Wait()
		r.mustEnd()
		got, err := wherry.Redrive(t.Context(), granting{b}, orders, wherry.RedriveReason(wherry.ReasonExhausted))
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: exhausted, Passed: rejected})
	})
}

// granting is a broker that gives no receiver more than its prefetch unsettled.
type granting struct{ *mem.Broker }

func (g granting) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := g.Broker.OpenQueue(ctx, s)
	if err != nil {
		return nil, err
	}
	return &granted{Receiver: r, most: s.Prefetch}, nil
}

type granted struct {
	driver.Receiver
	most, unsettled int
}

func (g *granted) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	room := min(cap(dst)-len(dst), g.most-g.unsettled)
	if room <= 0 {
		<-ctx.Done()
		return dst, context.Cause(ctx)
	}
	got, err := g.Receiver.Receive(ctx, dst[:len(dst):len(dst)+room])
	g.unsettled += len(got) - len(dst)
	return got, err
}

func (g *granted) Settle(ctx context.Context, batch []driver.Settlement) error {
	g.unsettled -= len(batch)
	return g.Receiver.Settle(ctx, batch)
}

// joining brings nothing for a while, as a receiver does whose group is being made.
type joining struct {
	*mem.Broker
	until time.Time
}

func (j joining) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := j.Broker.OpenQueue(ctx, s)
	if err != nil {
		return nil, err
	}
	return joiningReceiver{r, j.until}, nil
}

type joiningReceiver struct {
	driver.Receiver
	until time.Time
}

func (j joiningReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	joined := time.NewTimer(time.Until(j.until))
	defer joined.Stop()
	select {
	case <-joined.C:
	case <-ctx.Done():
		return dst, context.Cause(ctx)
	}
	return j.Receiver.Receive(ctx, dst)
}

func (joiningReceiver) Waiting() string { return "joining" }

// A receiver that brings nothing yet is not taken for an empty topic, and one that never brings what is there is an error.
func TestRedriveWaitsForAReceiverThatJoins(t *testing.T) {
	t.Parallel()
	for joins, want := range map[time.Duration]string{
		3100 * time.Millisecond: "",
		time.Hour:               "redrive orders: 1 more dead letters are there and have not come for 10s: joining",
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newMem(t)
			publish(t, b, orders, order{ID: 1})
			r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
				return wherry.Reject(nil)
			}))
			synctest.Wait()
			r.mustEnd()
			got, err := wherry.Redrive(t.Context(), joining{b, time.Now().Add(joins)}, orders)
			if want == "" {
				assert.NoError(t, err)
				assert.Equal(t, got.Moved, 1)
				return
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("it returned %v, want %s", err, want)
			}
		})
	}
}
