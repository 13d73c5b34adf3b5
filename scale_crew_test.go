package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// turn sets the number and waits until the consumer has it.
func (d *dial) turn(tb testing.TB, c *wherry.Consumer, n int) {
	tb.Helper()
	d.want.Store(int64(n))
	time.Sleep(3 * dialEvery)
	if got := c.Health().Workers; got != n {
		tb.Fatalf("%d workers run, want %d", got, n)
	}
}

// A worker that is removed keeps what its handlers have in hand for as long as they take, and gives the rest back.
func TestRemovedWorkerFinishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var d dial
		var ev events
		var log calls
		c := wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			time.Sleep(time.Minute)
			log.add("%d attempt %d %v", m.Value.ID, m.Attempt(), ctx.Err())
			return wherry.Ack()
		}, d.between(1, 2), wherry.Concurrency(2), wherry.DrainTime(10*time.Second), wherry.NoHandlerTimeout(),
			wherry.OnEvent(ev.record))
		r := start(t, c)
		d.turn(t, c, 2)
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3}, order{ID: 4}, order{ID: 5}, order{ID: 6})
		synctest.Wait()
		assert.Equal(t, c.Health().InFlight, 6)
		d.turn(t, c, 1)
		time.Sleep(5 * time.Minute)
		got := log.all()
		assert.Equal(t, len(got), 6)
		for i, one := range got {
			assert.True(t, strings.HasSuffix(one, "attempt 1 <nil>"), one)
			for _, other := range got[:i] {
				assert.True(t, one != other, "handled twice: "+one)
			}
		}
		assert.Equal(t, c.Health().InFlight, 0)
		assert.Equal(t, c.Health().Handled, 6)
		assert.Equal(t, len(eventsOf[*wherry.Abandoned](&ev)), 0)
		released := eventsOf[*wherry.Released](&ev)
		assert.True(t, len(released) > 0 && released[len(released)-1].Why == "its worker is removed", "nothing went back")
		r.mustEnd()
		assert.Equal(t, len(log.all()), 6)
	})
}

// A batch that a removed worker collects goes back at once, however long it might wait.
func TestRemovedWorkerGivesItsBatchBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var d dial
		var sizes calls
		c := wherry.ConsumeBatch(wherry.Queue(b, orders), func(_ context.Context, m *wherry.MessageBatch[order]) wherry.Outcome {
			sizes.add("%d", m.Len())
			return wherry.Ack()
		}, d.between(1, 2), wherry.BatchSize(4), wherry.BatchAge(time.Hour))
		r := start(t, c)
		d.turn(t, c, 2)
		publish(t, b, orders, order{ID: 1}, order{ID: 2})
		synctest.Wait()
		publish(t, b, orders, order{ID: 3}, order{ID: 4})
		time.Sleep(time.Second)
		assert.Equal(t, c.Health().InFlight+len(sizes.all())*4, 4)
		d.turn(t, c, 1)
		time.Sleep(time.Second)
		assert.Equal(t, sizes.all(), []string{"4"})
		assert.Equal(t, len(sizes.all()), 1)
		r.mustEnd()
	})
}

// A worker that is removed makes its copies first, up to the drain time.
func TestRemovedWorkerMakesItsCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var d dial
		var ev events
		c := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			return wherry.Reject(errors.New("no"))
		}, d.between(1, 2), wherry.OnEvent(ev.record))
		r := start(t, c)
		d.turn(t, c, 2)
		b.Faults().FailSend("orders.dlq", -1, errors.New("not now"))
		for id := range 20 { // so that the younger has some
			publish(t, b, orders, order{ID: id})
			synctest.Wait()
		}
		time.Sleep(time.Second)
		d.turn(t, c, 1)
		b.Faults().Clear()
		time.Sleep(time.Minute)
		assert.Equal(t, len(eventsOf[*wherry.DeadLettered](&ev)), 20)
		assert.Equal(t, len(eventsOf[*wherry.Handled](&ev)), 20)
		assert.Equal(t, c.Health().InFlight, 0)
		r.mustEnd()
	})
}

// Handlers of a worker that leaves are counted and abandoned with all others when the consumer stops.
func TestStopWhileAWorkerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var d dial
		block := make(chan struct{})
		c := wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			<-block
			return wherry.Ack()
		}, d.between(1, 3), wherry.NoHandlerTimeout(), wherry.DrainTime(5*time.Second))
		r := start(t, c)
		d.turn(t, c, 3)
		publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
		synctest.Wait()
		d.turn(t, c, 1)
		assert.Equal(t, c.Health().InFlight, 3)
		began := time.Now()
		err := r.end()
		var abandoned *wherry.AbandonedError
		assert.True(t, errors.As(err, &abandoned), fmt.Sprint(err))
		assert.Equal(t, abandoned.Handlers, 3)
		assert.Equal(t, time.Since(began), 6*time.Second)
		close(block)
	})
}

// One receiver that ends is replaced at once, while the other goes on; nothing is lost.
func TestEndedWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTold(t)
		var ev events
		var log calls
		c := wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			log.add("%d", m.Value.ID)
			return wherry.Ack()
		}, wherry.Workers(2), wherry.OnEvent(ev.record))
		r := start(t, c)
		synctest.Wait()
		b.kill(t, 0)
		synctest.Wait()
		assert.Equal(t, c.Health().Workers, 2)
		assert.Equal(t, len(b.openedAt()), 3)
		lost := eventsOf[*wherry.WorkerLost](&ev)
		assert.Equal(t, len(lost), 1)
		assert.ErrorIs(t, lost[0].Err, wherry.ErrClosed)
		assert.Equal(t, lost[0].Next, 0)
		assert.Equal(t, len(eventsOf[*wherry.WorkerBack](&ev)), 1)
		b.kill(t, 1)
		b.kill(t, 2)
		time.Sleep(time.Second)
		assert.Equal(t, c.Health().Workers, 2)
		for id := range 10 {
			publish(t, b, orders, order{ID: id})
		}
		time.Sleep(time.Second)
		assert.Equal(t, len(log.all()), 10)
		r.mustEnd()
	})
}

// The handlers of a receiver that ended learn that their messages go to others, and a failure that follows is no attempt.
func TestEndedWorkerTellsItsHandlers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTold(t)
		var log calls
		c := wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
			log.add("attempt %d", m.Attempt())
			if len(log.all()) > 1 {
				return wherry.Ack()
			}
			<-ctx.Done()
			log.add("%v", context.Cause(ctx))
			return wherry.Retry(ctx.Err())
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}), wherry.Concurrency(2))
		r := start(t, c)
		publish(t, b, orders, order{ID: 1})
		synctest.Wait()
		b.kill(t, 0)
		time.Sleep(time.Second)
		got := log.all()
		assert.Equal(t, len(got), 3)
		for _, want := range []string{"attempt 1", wherry.ErrRevoked.Error()} {
			assert.True(t, strings.Contains(strings.Join(got, ", "), want), strings.Join(got, ", "))
		}
		r.mustEnd()
		assert.Equal(t, depthOf(t, b.Broker, "orders.dlq"), 0)
	})
}

// In a sequence no message of a key starts in the place of an ended worker before that one's handler has returned.
func TestEndedWorkerKeepsItsKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTold(t)
		steps := wherry.NewKeyedTopic("steps", codec.JSON[order]{}, func(dst []byte, o *order) []byte {
			return append(dst, o.Text...)
		})
		var log calls
		var inside atomic.Int64
		c := wherry.Consume(wherry.Sequence(b, steps), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			log.add("%d", m.Value.ID)
			assert.True(t, inside.Add(1) == 1, "two of a key at once")
			time.Sleep(10 * time.Second) // whatever its context says
			inside.Add(-1)
			return wherry.Ack()
		}, wherry.Concurrency(4))
		r := start(t, c)
		publish(t, b, steps, order{ID: 1, Text: "k"}, order{ID: 2, Text: "k"}, order{ID: 3, Text: "k"})
		time.Sleep(time.Second)
		b.kill(t, 0)
		time.Sleep(5 * time.Second)
		assert.Equal(t, len(b.openedAt()), 1)
		assert.Equal(t, c.Health().State, wherry.StateAway)
		time.Sleep(5 * time.Second)
		assert.Equal(t, len(b.openedAt()), 2)
		time.Sleep(time.Minute)
		assert.Equal(t, log.all(), []string{"1", "1", "2", "3"})
		assert.Equal(t, c.Health().State, wherry.StateRunning)
		r.mustEnd()
	})
}

// A worker that cannot be opened again is tried with growing pauses. The others go on, and health says that one is missing.
func TestEndedWorkerIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTold(t)
		var ev events
		var log calls
		c := wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			log.add("%d", m.Value.ID)
			return wherry.Ack()
		}, wherry.Workers(2), wherry.OnEvent(ev.record))
		r := start(t, c)
		synctest.Wait()
		b.fail(nil, errors.New("too many receivers"))
		b.kill(t, 0)
		time.Sleep(time.Second)
		h := c.Health()
		assert.Equal(t, h.State, wherry.StateRunning)
		assert.True(t, h.Ready, "not ready though one worker runs")
		assert.Equal(t, h.Cause, "1 of 2 workers ended or cannot be opened")
		assert.Equal(t, h.Detail, "open a worker: too many receivers")
		assert.Equal(t, h.Workers, 1)
		publish(t, b, orders, order{ID: 1})
		synctest.Wait()
		assert.Equal(t, log.all(), []string{"1"})

		time.Sleep(10 * time.Minute)
		opens := b.openedAt()[2:]
		assert.True(t, len(opens) < 40, fmt.Sprintf("%d attempts in ten minutes", len(opens)))
		for i := 2; i < len(opens); i++ {
			gap, least := opens[i].Sub(opens[i-1]), min(100*time.Millisecond<<(i-1), 30*time.Second)
			assert.True(t, gap >= least && gap <= least*5/4, fmt.Sprintf("attempt %d after %v, want %v", i, gap, least))
		}
		assert.Equal(t, len(eventsOf[*wherry.WorkerLost](&ev)), 1+len(opens))

		b.fail(nil, nil)
		time.Sleep(time.Minute)
		h = c.Health()
		assert.Equal(t, h.Workers, 2)
		assert.Equal(t, h.Cause, "")
		back := eventsOf[*wherry.WorkerBack](&ev)
		assert.Equal(t, len(back), 1)
		assert.True(t, back[0].After > 10*time.Minute, back[0].After.String())
		r.mustEnd()
	})
}

// A consumer whose last worker ended, and cannot be opened again, is not ready.
func TestNoWorkerIsNotReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTold(t)
		c := wherry.Consume(wherry.Queue(b, orders), done)
		r := start(t, c)
		synctest.Wait()
		b.fail(nil, errors.New("too many receivers"))
		b.kill(t, 0)
		time.Sleep(time.Second)
		h := c.Health()
		assert.Equal(t, h.State, wherry.StateAway)
		assert.True(t, !h.Ready, "ready without a worker")
		assert.Equal(t, h.Cause, "1 of 1 worker ended or cannot be opened")
		b.fail(nil, nil)
		time.Sleep(10 * time.Second)
		assert.True(t, c.Health().Ready, "not ready again: "+c.Health().Cause)
		r.mustEnd()
	})
}

// A worker that scaling adds and the broker refuses is tried again, and the others go on.
func TestAddedWorkerIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTold(t)
		var d dial
		var ev events
		c := wherry.Consume(wherry.Queue(b, orders), done, d.between(1, 3), wherry.OnEvent(ev.record))
		r := start(t, c)
		synctest.Wait()
		b.fail(nil, errors.New("too many receivers"))
		d.want.Store(3)
		time.Sleep(time.Second)
		assert.Equal(t, c.Health().Workers, 1)
		assert.Equal(t, c.Health().Cause, "2 of 3 workers ended or cannot be opened")
		assert.True(t, len(eventsOf[*wherry.WorkerLost](&ev)) > 1, "nobody was told")
		d.want.Store(1) // and is not missed any more
		time.Sleep(time.Second)
		assert.Equal(t, c.Health().Cause, "")
		d.want.Store(3)
		b.fail(nil, nil)
		time.Sleep(time.Minute)
		assert.Equal(t, c.Health().Workers, 3)
		assert.Equal(t, c.Health().Cause, "")
		r.mustEnd()
	})
}

// A broker that is closed ends the run at once, with any number of workers.
func TestClosedBrokerEndsAllWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		c := wherry.Consume(wherry.Queue(b, orders), done, wherry.Workers(5))
		r := start(t, c)
		synctest.Wait()
		began := time.Now()
		assert.NoError(t, b.Close(t.Context()))
		select {
		case <-r.done:
		case <-time.After(time.Minute):
			_ = r.end()
			t.Fatal("it goes on without its broker")
		}
		assert.ErrorIs(t, r.err, wherry.ErrClosed)
		assert.Equal(t, time.Since(began), 0)
	})
}

// A middleware that cannot be built for a worker that is added is no end of the others.
func TestAddedWorkerIsBuilt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTold(t)
		var d dial
		var built atomic.Int64
		c := wherry.Consume(wherry.Queue(b, orders), done, d.between(1, 3), wherry.Use(func(next wherry.Next) wherry.Next {
			if built.Add(1) == 2 {
				panic("not this one")
			}
			return next
		}))
		r := start(t, c)
		d.want.Store(2)
		time.Sleep(50 * time.Millisecond)
		assert.Equal(t, c.Health().Workers, 1)
		assert.Equal(t, c.Health().Detail, "build middleware: not this one")
		time.Sleep(time.Second)
		assert.Equal(t, c.Health().Workers, 2)
		r.mustEnd()
	})
}

// A worker whose broker was away when it was removed does not leave the consumer away for good.
func TestRemovedWorkerTakesItsAbsenceAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newTold(t) // which says what waits, though it is away
		var d dial
		var ev events
		c := wherry.Consume(wherry.Queue(b, orders), done, d.between(1, 2), wherry.OnEvent(ev.record))
		r := start(t, c)
		d.turn(t, c, 2)
		b.Faults().Disconnect(mem.HardCut)
		synctest.Wait()
		assert.Equal(t, c.Health().State, wherry.StateAway)
		d.turn(t, c, 1)
		assert.Equal(t, c.Health().State, wherry.StateAway)
		b.Faults().Clear()
		time.Sleep(15 * time.Second)
		assert.Equal(t, c.Health().State, wherry.StateRunning)
		assert.Equal(t, len(eventsOf[*wherry.BrokerAway](&ev)), 1)
		assert.Equal(t, len(eventsOf[*wherry.BrokerBack](&ev)), 1)
		r.mustEnd()
	})
}

var _ driver.Inspector = (*toldBroker)(nil)
