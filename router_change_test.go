package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A hookedBroker calls open before it opens a queue.
type hookedBroker struct {
	*mem.Broker
	open func(ctx context.Context) error
}

func (b *hookedBroker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if err := b.open(ctx); err != nil {
		return nil, err
	}
	return b.Broker.OpenQueue(ctx, s)
}

// hooked is a consumer on such a broker.
func hooked(b *mem.Broker, topic string, open func(ctx context.Context) error, opts ...wherry.ConsumeOption) *wherry.Consumer {
	return wherry.Consume(wherry.Queue(&hookedBroker{b, open}, texts(topic)),
		wherry.Func(func(context.Context, string) error { return nil }), opts...)
}

// Mistakes of what is added are its adder's: those that run do not notice, and none of what was added with it starts.
func TestRouterAddReportsToItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		var told events
		router := wherry.NewRouter("", wherry.Share(wherry.OnEvent(told.record)), wherry.Mount(noting(b, &seen, "a")))
		r := start(t, router)
		synctest.Wait()
		away := errors.New("the broker is away")
		good := noting(b, &seen, "good")
		err := router.Add(t.Context(), good, noting(b, &seen, "bad", wherry.Workers(-1)),
			hooked(b, "away", func(context.Context) error { return away }))
		assert.ErrorIs(t, err, away)
		wantError(t, err, "consume bad: workers is -1")
		err = router.Add(t.Context(), noting(b, &seen, "new", wherry.Name("a")))
		wantError(t, err, `add a: two consumers are named "a", that of topic a and that of topic new`)
		wantError(t, router.Add(t.Context(), nil, good, good), "consumer 1 is nil", "consumer good is in it already")
		dead := wherry.DeadLetters(texts("a"))
		circle := wherry.Consume(wherry.Queue(b, dead), func(context.Context, *wherry.Message[wherry.DeadLetter[string]]) wherry.Outcome {
			return wherry.Ack()
		}, wherry.DeadLetterTo("a"))
		wantError(t, router.Add(t.Context(), circle), "its dead letters would come back to it")

		assert.Equal(t, router.Names(), []string{"a"})
		publish(t, b, texts("a"), "1")
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"a 1"})
		assert.Equal(t, len(eventsOf[*wherry.Started](&told)), 1)
		assert.Equal(t, good.Health().State, wherry.StateStopped)
		assert.NoError(t, router.Add(t.Context(), good))
		r.mustEnd()
	})
}

// Before Run, and after its end, consumers are only taken in and out.
func TestRouterChangesBesideRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		publish(t, b, texts("a"), "1")
		publish(t, b, texts("b"), "2")
		publish(t, b, texts("c"), "3")
		a, bb, c := noting(b, &seen, "a"), noting(b, &seen, "b"), noting(b, &seen, "c")
		router := wherry.NewRouter("p")
		assert.NoError(t, router.Add(t.Context(), a, bb))
		wantError(t, router.Add(t.Context(), noting(b, &seen, "x", wherry.Name("a"))), `named "p/a"`)
		assert.NoError(t, router.Pause("p/a", "not yet"))
		assert.NoError(t, router.Stop(t.Context(), "p/b"))
		assert.Equal(t, bb.Name(), "b")
		r := start(t, router)
		synctest.Wait()
		assert.Equal(t, seen.all(), nil)
		assert.Equal(t, router.Health()[0].Cause, "not yet")
		assert.NoError(t, router.Resume("p/a"))
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"a 1"})
		r.mustEnd()

		assert.NoError(t, router.Add(t.Context(), c))
		assert.NoError(t, router.Stop(t.Context(), "p/a"))
		assert.NoError(t, router.Add(t.Context(), a))
		assert.NoError(t, router.Pause("p/a", "again"))
		r = start(t, router)
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"a 1", "c 3"})
		assert.Equal(t, router.Health()[0].State, wherry.StatePaused)
		r.mustEnd()
		assert.NoError(t, router.Stop(t.Context(), "p/a"))
		other := wherry.NewRouter("q", wherry.Mount(bb))
		assert.Equal(t, other.Names(), []string{"q/b"})
		wantError(t, other.Add(t.Context(), a), "consumer p/a ran elsewhere before")
	})
}

// Stop waits for the drain of the one, which leaves the rest of its queue to the broker though that forgets at exit, and the
// others go on.
func TestRouterStopDrainsOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		work := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			time.Sleep(2 * time.Second)
			seen.add("slow %s", m.Value)
			return wherry.Ack()
		}
		slow := wherry.Consume(wherry.Queue(b, texts("slow")), work)
		router := wherry.NewRouter("", wherry.Mount(slow, noting(b, &seen, "quick")))
		publish(t, b, texts("slow"), "1", "2", "3")
		r := start(t, router)
		time.Sleep(time.Second)
		began := time.Now()
		assert.NoError(t, router.Stop(t.Context(), "slow"))
		assert.Equal(t, time.Since(began), time.Second)
		assert.Equal(t, seen.all(), []string{"slow 1"})
		assert.Equal(t, slow.Health().State, wherry.StateStopped)
		assert.Equal(t, router.Names(), []string{"quick"})
		assert.Equal(t, depthOf(t, b, "slow"), 2)

		publish(t, b, texts("quick"), "1")
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"slow 1", "quick 1"})
		assert.NoError(t, router.Add(t.Context(), slow))
		r.mustEnd() // which empties its queue
		assert.Equal(t, seen.all(), []string{"slow 1", "quick 1", "slow 2", "slow 3"})
	})
}

// What is abandoned is told to who stops, and does not end the Run.
func TestRouterStopTellsWhatIsAbandoned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		let := make(chan struct{})
		deaf := wherry.Consume(wherry.Queue(b, texts("deaf")), func(context.Context, *wherry.Message[string]) wherry.Outcome {
			<-let
			return wherry.Ack()
		}, wherry.DrainTime(time.Second))
		router := wherry.NewRouter("", wherry.Mount(deaf, noting(b, &seen, "a")))
		publish(t, b, texts("deaf"), "1")
		r := start(t, router)
		synctest.Wait()
		short, end := context.WithTimeout(t.Context(), time.Millisecond)
		defer end()
		err := router.Stop(short, "deaf")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		wantError(t, err, "it goes on stopping")
		wantError(t, router.Add(t.Context(), noting(b, &seen, "x", wherry.Name("deaf"))), "two consumers are named")
		err = router.Stop(t.Context(), "deaf")
		left, ok := errors.AsType[*wherry.AbandonedError](err)
		assert.True(t, ok && left.Handlers == 1 && left.Left == 0, fmt.Sprint(err))
		publish(t, b, texts("a"), "1")
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"a 1"})
		r.mustEnd()
		close(let)
	})
}

// A paused consumer that is stopped alone leaves its queue to the broker, and nothing was left undone.
func TestRouterStopPaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		router := wherry.NewRouter("", wherry.Mount(noting(b, &seen, "a")))
		r := start(t, router)
		synctest.Wait()
		assert.NoError(t, router.Pause("a", "deploy"))
		publish(t, b, texts("a"), "1")
		synctest.Wait()
		assert.NoError(t, router.Stop(t.Context(), "a"))
		r.mustEnd()
		assert.Equal(t, depthOf(t, b, "a"), 1)
	})
}

func TestRouterPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		c := noting(b, &seen, "a")
		inner := wherry.NewRouter("in", wherry.Mount(c))
		outer := wherry.NewRouter("out", wherry.Mount(inner, noting(b, &seen, "b")))
		r := start(t, outer)
		synctest.Wait()
		assert.NoError(t, outer.Pause("out/in/a", "one"))
		assert.NoError(t, outer.Pause("out/in/a", "one"))
		assert.NoError(t, inner.Pause("out/in/a", "two"))
		breaker := c.Pause("breaker")
		assert.Equal(t, outer.Health()[1].Cause, "breaker; one; two")
		publish(t, b, texts("a"), "1")
		publish(t, b, texts("b"), "2")
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"b 2"})
		assert.NoError(t, inner.Resume("out/in/a"))
		assert.NoError(t, inner.Resume("out/in/a"))
		assert.Equal(t, outer.Health()[1].Cause, "breaker")
		breaker()
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"b 2", "a 1"})

		err := inner.Pause("out/b", "not here")
		assert.ErrorIs(t, err, wherry.ErrNoConsumer)
		wantError(t, err, "pause out/b: no consumer has this name: there are out/in/a")
		assert.ErrorIs(t, outer.Resume("b"), wherry.ErrNoConsumer)
		r.mustEnd()
	})
}

// Names that are not there are told with those that are, up to a number.
func TestRouterUnknownName(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	var seen calls
	router := wherry.NewRouter("")
	wantError(t, router.Stop(t.Context(), "x"), "stop x: no consumer has this name: it is empty")
	for i := range 10 {
		assert.NoError(t, router.Add(t.Context(), noting(b, &seen, fmt.Sprintf("t%d", i))))
	}
	wantError(t, router.Stop(t.Context(), "x"), "there are t0, t1, t2, t3, t4, t5, t6, t7 and 2 more")
}

// A consumer can change the router that it is in, all but wait for its own end.
func TestRouterChangedByAHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		router := wherry.NewRouter("")
		var stopped sync.WaitGroup
		boss := wherry.Consume(wherry.Queue(b, texts("boss")), func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
			var err error
			name := strings.TrimPrefix(m.Value, "stop ")
			switch {
			case m.Value == "stop boss":
				stopped.Go(func() { assert.NoError(t, router.Stop(context.WithoutCancel(ctx), "boss")) })
			case name != m.Value:
				err = router.Stop(ctx, name)
			default:
				err = router.Add(ctx, noting(b, &seen, m.Value))
			}
			assert.NoError(t, err)
			return wherry.Ack()
		})
		assert.NoError(t, router.Add(t.Context(), boss))
		r := start(t, router)
		publish(t, b, texts("boss"), "x", "y", "stop x", "stop boss")
		synctest.Wait()
		stopped.Wait()
		assert.Equal(t, router.Names(), []string{"y"})
		r.mustEnd()
	})
}
