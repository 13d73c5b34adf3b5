package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// each yields the orders with these ids, all in one variable.
func each(ids ...int) iter.Seq[*order] {
	return func(yield func(*order) bool) {
		var o order
		for _, id := range ids {
			o = order{ID: id}
			if !yield(&o) {
				return
			}
		}
	}
}

// handledIDs drains a topic and returns the ids that were handled, sorted.
func handledIDs(t *testing.T, b *mem.Broker, topic wherry.Topic[order]) []int {
	t.Helper()
	var ids []int
	r := start(t, wherry.Consume(wherry.Queue(b, topic), wherry.Func(func(_ context.Context, o order) error {
		ids = append(ids, o.ID)
		return nil
	})))
	synctest.Wait()
	r.mustEnd()
	slices.Sort(ids)
	return ids
}

// What a failed publish says of the message is true: not sent, or perhaps sent.
func TestFault31PublishTellsTheTruth(t *testing.T) {
	t.Parallel()
	for _, joined := range []int{0, 16} { // each on its own, and sharing calls
		t.Run(fmt.Sprintf("batch=%d", joined), func(t *testing.T) {
			t.Parallel()
			for name, c := range map[string]struct {
				fault func(f *mem.Faults)
				want  error
				there bool
			}{
				"cut before the write": {func(f *mem.Faults) { f.CutBefore("orders", 1_000) }, wherry.ErrNotSent, false},
				"cut after the write":  {func(f *mem.Faults) { f.CutAfter("orders", 1) }, wherry.ErrUnconfirmed, true},
				"confirm withheld":     {func(f *mem.Faults) { f.WithholdConfirms("orders") }, wherry.ErrUnconfirmed, true},
				"broker away":          {func(f *mem.Faults) { f.Disconnect(mem.SoftCut) }, wherry.ErrNotSent, false},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						b := mem.New(mem.Config{SendBatch: joined})
						defer b.Close(context.Background())
						p, err := wherry.NewPublisher(t.Context(), b, orders)
						assert.NoError(t, err)
						c.fault(b.Faults())
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						defer cancel()
						began := time.Now()
						err = p.Publish(ctx, &order{ID: 1})
						assert.True(t, time.Since(began) <= 5*time.Second, "within its context")
						assert.ErrorIs(t, err, c.want)
						assert.True(t, errors.Is(err, wherry.ErrNotSent) != errors.Is(err, wherry.ErrUnconfirmed), "one of the two")
						b.Faults().Clear()
						assert.NoError(t, p.Close(t.Context()))
						assert.Equal(t, len(handledIDs(t, b, orders)) == 1, c.there)
					})
				})
			}
		})
	}
}

// In a batch the truth is told of each message.
func TestFault31BatchTellsTheTruthOfEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		p, err := wherry.NewPublisher(t.Context(), b, orders)
		assert.NoError(t, err)
		b.Faults().FailSend("orders", 2, errors.New("no"))
		err = p.PublishAll(t.Context(), each(1, 2, 3, 4))
		var be *wherry.BatchError
		assert.True(t, errors.As(err, &be), "a BatchError")
		var failed []bool
		for _, one := range be.Errs {
			failed = append(failed, errors.Is(one, wherry.ErrNotSent))
		}
		assert.Equal(t, failed, []bool{true, true, false, false})
		assert.NoError(t, p.Close(t.Context()))
		assert.Equal(t, handledIDs(t, b, orders), []int{3, 4})
	})
}

// A connection that comes back within the publish's context costs nothing but time, and the message keeps its id.
func TestPublishWaitsOutALostConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		p, err := wherry.NewPublisher(t.Context(), b, orders)
		assert.NoError(t, err)
		b.Faults().Disconnect(mem.HardCut)
		time.AfterFunc(10*time.Second, b.Faults().Reconnect)
		assert.NoError(t, p.Publish(t.Context(), &order{ID: 1}, wherry.WithID("mine")))
		b.Faults().CutBefore("orders", 3)
		assert.NoError(t, p.Publish(t.Context(), &order{ID: 2}))
		assert.NoError(t, p.Close(t.Context()))
		assert.Equal(t, handledIDs(t, b, orders), []int{1, 2})
	})
}

// Without a deadline a publish ends after its timeout.
func TestPublishWithoutADeadlineEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{MaxMessages: 1})
		defer b.Close(context.Background())
		p, err := wherry.NewPublisher(t.Context(), b, orders)
		assert.NoError(t, err)
		assert.NoError(t, p.Publish(t.Context(), &order{ID: 1}))
		began := time.Now()
		assert.ErrorIs(t, p.Publish(t.Context(), &order{ID: 2}), wherry.ErrNotSent)
		assert.Equal(t, time.Since(began).Round(10*time.Millisecond), 30*time.Second)
		assert.NoError(t, p.Close(t.Context()))
	})
}

// FAULTS 42: the copies of a retry and of a dead letter are no repetitions, whatever the broker's window says.
func TestFault42CopiesPassTheDeduplicationWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Weak: mem.Weak{Dedup: time.Hour}})
		defer b.Close(context.Background())
		p, err := wherry.NewPublisher(t.Context(), b, orders)
		assert.NoError(t, err)
		for range 2 { // the second is a repetition, and dropped
			assert.NoError(t, p.Publish(t.Context(), &order{ID: 1}, wherry.WithID("one")))
		}
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%s attempt %d", m.ID(), m.Attempt())
			return wherry.Retry(errors.New("always"))
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2})))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"one attempt 1", "one attempt 2"})
		dead := collectDead(t, b, wherry.DeadLetters(orders))
		assert.Equal(t, len(dead), 1)
		assert.Equal(t, dead[0].ID(), "one")
		moved, err := wherry.Redrive(t.Context(), b, orders) // nothing left there
		assert.NoError(t, err)
		assert.Equal(t, moved, wherry.Redriven{})
		assert.NoError(t, p.Close(t.Context()))
	})
}

// FAULTS 36: what a handler keeps by value does not change under it, and no field of the message before shows through.
func TestFault36KeptValuesDoNotChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1, Text: "first", Amount: 10}, order{ID: 2}, order{ID: 3, Text: "third"})
		raw := wherry.NewTopic("raw", codec.Bytes{})
		publish(t, b, raw, []byte("one"), []byte("two"))
		var kept []order
		var bytes [][]byte
		var clones []*wherry.Message[order]
		r := start(t,
			wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
				kept = append(kept, m.Value)
				clones = append(clones, m.Clone())
				return wherry.Ack()
			}),
			wherry.Consume(wherry.Queue(b, raw), func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
				bytes = append(bytes, m.Value)
				return wherry.Ack()
			}))
		synctest.Wait()
		r.mustEnd()
		assert.Equal(t, kept, []order{{ID: 1, Text: "first", Amount: 10}, {ID: 2}, {ID: 3, Text: "third"}})
		assert.Equal(t, bytes, [][]byte{[]byte("one"), []byte("two")})
		assert.Equal(t, string(clones[0].Body()), `{"id":1,"text":"first","amount":10}`)
	})
}

// A view that is kept is overwritten, so that whoever keeps one is found.
func TestKeptViewIsOverwritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		views := wherry.NewTopic("views", codec.BytesView{})
		publish(t, b, views, []byte("kept"))
		var view, copied []byte
		r := start(t, wherry.Consume(wherry.Queue(b, views), func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
			view, copied = m.Value, m.Clone().Value
			return wherry.Ack()
		}))
		synctest.Wait()
		r.mustEnd()
		assert.True(t, string(view) != "kept", "the view was overwritten")
		assert.Equal(t, string(copied), "kept")
	})
}
