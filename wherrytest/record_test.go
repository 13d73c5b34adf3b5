package wherrytest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/wherrytest"
)

func TestARecorderHasEveryAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		in := wherrytest.Probe(tt, orders)
		rec := wherrytest.Record(func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			switch m.Attempt() {
			case 1:
				panic("first")
			case 2:
				return wherry.RetryAfter(time.Minute, errBad)
			default:
				return wherry.Ack()
			}
		})
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), rec.Handle,
			wherry.RetryWith(wherry.RetryPolicy{Delays: []time.Duration{time.Second}, Jitter: wherry.NoJitter})))
		in.PublishWith(order{ID: 9}, wherry.WithID("nine"), wherry.WithKey([]byte("k")), wherry.WithHeader("a", "b"))
		tt.Quiesce()

		calls := rec.Calls()
		assert.Equal(t, len(calls), 3)
		for i, c := range calls {
			assert.Equal(t, c.Attempt(), i+1)
			assert.Equal(t, c.ID(), "nine")
			assert.Equal(t, c.Value, order{ID: 9})
			assert.Equal(t, string(c.Key()), "k")
			assert.Equal(t, c.Headers().Get("a"), "b")
		}
		assert.Equal(t, calls[0].Outcome.Kind(), wherry.KindRetry)
		assert.True(t, calls[0].Outcome.Err() != nil, "a panic has no error")
		assert.ErrorIs(t, calls[1].Outcome.Err(), errBad)
		assert.Equal(t, calls[2].Outcome.Kind(), wherry.KindAck)
		assert.Equal(t, calls[1].At.Sub(calls[0].At).Round(time.Second), time.Second)
		assert.Equal(t, calls[2].At.Sub(calls[1].At).Round(time.Second), time.Minute)
		assert.Equal(t, rec.Values(), []order{{ID: 9}})
		in.Expect(wherrytest.Counts{Published: 1, Handled: 1, Retried: 2})
	})
}

func TestABatchRecorderHasEachOutcome(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		in := wherrytest.Probe(tt, orders)
		rec := wherrytest.RecordBatch(func(_ context.Context, b *wherry.MessageBatch[order]) wherry.Outcome {
			for i, m := range b.All() {
				if m.Value.Bad == "reject" {
					b.Set(i, wherry.Reject(errBad))
				}
			}
			return wherry.Ack()
		})
		in.Publish(order{ID: 1}, order{ID: 2, Bad: "reject"}, order{ID: 3})
		tt.Run(wherry.ConsumeBatch(wherry.Queue(tt.Broker(), orders), rec.Handle, wherry.BatchSize(3)))
		tt.Quiesce()

		in.Expect(wherrytest.Counts{Published: 3, Handled: 2, Dead: 1})
		calls := rec.Calls()
		assert.Equal(t, len(calls), 1)
		assert.Equal(t, len(calls[0]), 3)
		for i, want := range []wherry.OutcomeKind{wherry.KindAck, wherry.KindReject, wherry.KindAck} {
			assert.Equal(t, calls[0][i].Value.ID, i+1)
			assert.Equal(t, calls[0][i].Outcome.Kind(), want)
		}
	})
}

func TestABatchRecorderHasPanicsAndSkips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		in := wherrytest.Probe(tt, orders)
		first := true
		rec := wherrytest.RecordBatch(func(_ context.Context, b *wherry.MessageBatch[order]) wherry.Outcome {
			if first {
				first = false
				panic("first")
			}
			b.Skip(0, wherry.Ack())
			b.Set(0, wherry.Reject(errBad))
			return wherry.Retry(errBad)
		})
		in.Publish(order{ID: 1}, order{ID: 2})
		tt.Run(wherry.ConsumeBatch(wherry.Queue(tt.Broker(), orders), rec.Handle, wherry.BatchSize(2),
			wherry.RetryWith(wherry.RetryPolicy{Jitter: wherry.NoJitter})))
		tt.Quiesce()
		in.Expect(wherrytest.Counts{Published: 2, Handled: 1, Retried: 2, Dead: 1})
		calls := rec.Calls()
		assert.Equal(t, len(calls), 2)
		assert.Equal(t, calls[0][1].Outcome.Kind(), wherry.KindRetry)
		assert.Equal(t, calls[1][1].Outcome.Kind(), wherry.KindReject)
	})
}

func TestANilHandlerAcknowledges(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, orders)
	rec := wherrytest.RecordBatch[order](nil)
	tt.Run(wherry.ConsumeBatch(wherry.Queue(tt.Broker(), orders), rec.Handle))
	in.Publish(order{ID: 1})
	tt.Quiesce()
	in.ExpectHandled(1)
	assert.Equal(t, rec.Calls()[0][0].Value.ID, 1)
}
