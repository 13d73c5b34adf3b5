package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// holding is a consumer whose handler takes a second, with a message in hand.
func holding(t *testing.T, b *hookedBroker, topic string) *wherry.Consumer {
	t.Helper()
	publish(t, b.Broker, texts(topic), "in hand")
	return wherry.Consume(wherry.Queue(b, texts(topic)), func(context.Context, *wherry.Message[string]) wherry.Outcome {
		time.Sleep(time.Second)
		return wherry.Ack()
	})
}

func opensAtOnce(context.Context) error { return nil }

func TestRouterAddDuringStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		router := wherry.NewRouter("", wherry.Mount(holding(t, &hookedBroker{b, opensAtOnce}, "slow")))
		r := start(t, router)
		synctest.Wait()
		r.stop()
		late := noting(b, &seen, "late")
		err := router.Add(t.Context(), late)
		assert.ErrorIs(t, err, wherry.ErrStopping)
		wantError(t, err, "wherry: add late: the router is stopping")
		assert.Equal(t, router.Names(), []string{"slow"})
		r.mustEnd()
		assert.NoError(t, router.Add(t.Context(), late))
		assert.Equal(t, late.Health().State, wherry.StateIdle)
	})
}

// Run does not return before what is being added has been given up, though nothing else is left to do.
func TestRouterWaitsForAdds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		router := wherry.NewRouter("")
		r := start(t, router)
		synctest.Wait()
		added := make(chan error, 1)
		go func() {
			added <- router.Add(t.Context(), hooked(b, "stuck", func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				return ctx.Err()
			}))
		}()
		synctest.Wait()
		began := time.Now()
		r.mustEnd()
		assert.Equal(t, time.Since(began), time.Second)
		assert.Equal(t, router.Names(), []string{})
		assert.ErrorIs(t, <-added, wherry.ErrStopping)
	})
}

// An Add that is opening when the router stops gives up and starts nothing of what it has opened, though there is a message and
// the broker is emptied.
func TestRouterStopsDuringAdd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		router := wherry.NewRouter("", wherry.Mount(noting(b, &seen, "a")))
		r := start(t, router)
		synctest.Wait()
		opened, added := noting(b, &seen, "opened"), make(chan error, 1)
		stuck := hooked(b, "stuck", func(ctx context.Context) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return ctx.Err()
		})
		publish(t, b, texts("opened"), "1")
		go func() { added <- router.Add(t.Context(), opened, stuck) }()
		synctest.Wait()
		assert.Equal(t, router.Names(), []string{"a", "opened", "stuck"})
		began := time.Now()
		r.stop()
		<-r.done
		assert.NoError(t, r.err)
		assert.Equal(t, time.Since(began).Round(100*time.Millisecond), time.Second)
		assert.Equal(t, router.Names(), []string{"a"})
		assert.Equal(t, opened.Health().State, wherry.StateStopped)
		assert.ErrorIs(t, <-added, wherry.ErrStopping)
		assert.Equal(t, seen.all(), nil)
	})
}

// A stop of what is being added takes it out, and its adder is told.
func TestRouterStopDuringAdd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		router := wherry.NewRouter("")
		r := start(t, router)
		synctest.Wait()
		let, added := make(chan struct{}), make(chan error, 1)
		c := hooked(b, "a", func(context.Context) error { <-let; return nil })
		go func() { added <- router.Add(t.Context(), c) }()
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- router.Stop(t.Context(), "a") }()
		synctest.Wait()
		close(let)
		wantError(t, <-added, "add a: it was stopped before it had started")
		assert.NoError(t, <-stopped)
		assert.Equal(t, router.Names(), []string{})
		r.mustEnd()
	})
}

// What is added while the others are still opening starts with them.
func TestRouterAddWhileOpening(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		let := make(chan struct{})
		router := wherry.NewRouter("", wherry.Mount(hooked(b, "slow", func(context.Context) error { <-let; return nil })))
		r := start(t, router)
		synctest.Wait()
		publish(t, b, texts("a"), "1")
		assert.NoError(t, router.Add(t.Context(), noting(b, &seen, "a")))
		stopped := make(chan error, 1)
		go func() { stopped <- router.Stop(t.Context(), "slow") }()
		synctest.Wait()
		assert.Equal(t, seen.all(), nil)
		close(let)
		assert.NoError(t, <-stopped)
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"a 1"})
		assert.Equal(t, router.Names(), []string{"a"})
		r.mustEnd()
	})
}

// What was added while the others were opening is closed when one of those cannot be opened.
func TestRouterAddWhileOpeningFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		let, away := make(chan struct{}), errors.New("the broker is away")
		router := wherry.NewRouter("", wherry.Mount(hooked(b, "slow", func(context.Context) error { <-let; return away })))
		r := start(t, router)
		synctest.Wait()
		publish(t, b, texts("a"), "1")
		added := noting(b, &seen, "a")
		assert.NoError(t, router.Add(t.Context(), added))
		close(let)
		<-r.done
		assert.ErrorIs(t, r.err, away)
		assert.Equal(t, seen.all(), nil)
		assert.Equal(t, added.Health().State, wherry.StateStopped)
		assert.Equal(t, router.Names(), []string{"a", "slow"})
		r.stop()
	})
}

func TestRouterStopTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		router := wherry.NewRouter("", wherry.Mount(holding(t, &hookedBroker{b, opensAtOnce}, "slow")))
		r := start(t, router)
		synctest.Wait()
		began := time.Now()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				assert.NoError(t, router.Stop(t.Context(), "slow"))
				assert.Equal(t, time.Since(began), time.Second)
			})
		}
		both.Wait()
		assert.ErrorIs(t, router.Stop(t.Context(), "slow"), wherry.ErrNoConsumer)
		r.mustEnd()
	})
}

// A stop of one while the whole stops waits for it too, and what it leaves undone is in Run's result all the same.
func TestRouterStopDuringCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		let := make(chan struct{})
		publish(t, b, texts("deaf"), "1")
		deaf := wherry.Consume(wherry.Queue(b, texts("deaf")), func(context.Context, *wherry.Message[string]) wherry.Outcome {
			<-let
			return wherry.Ack()
		}, wherry.DrainTime(time.Second))
		router := wherry.NewRouter("", wherry.Mount(deaf, holding(t, &hookedBroker{b, opensAtOnce}, "slow")))
		r := start(t, router)
		synctest.Wait()
		r.stop()
		assert.NoError(t, router.Stop(t.Context(), "slow"))
		_, ok := errors.AsType[*wherry.AbandonedError](router.Stop(t.Context(), "deaf"))
		assert.True(t, ok, "what was abandoned is told to who stops")
		_, ok = errors.AsType[*wherry.AbandonedError](r.end())
		assert.True(t, ok, "and to who runs")
		assert.Equal(t, router.Names(), []string{})
		close(let)
	})
}

// A consumer that is paused, stopped and added again under its name is not paused, and neither is another of that name.
func TestRouterPauseStopAdd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		c := noting(b, &seen, "a")
		router := wherry.NewRouter("p", wherry.Mount(c))
		r := start(t, router)
		synctest.Wait()
		for i, next := range []*wherry.Consumer{c, noting(b, &seen, "a")} {
			assert.NoError(t, router.Pause("p/a", "deploy"))
			publish(t, b, texts("a"), fmt.Sprint(i))
			synctest.Wait()
			assert.NoError(t, router.Stop(t.Context(), "p/a"))
			assert.NoError(t, router.Add(t.Context(), next))
			synctest.Wait()
			assert.Equal(t, len(seen.all()), i+1)
		}
		assert.Equal(t, seen.all(), []string{"a 0", "a 1"})
		r.mustEnd()
	})
}

// A driver that panics while it opens is a mistake of what is opened. Its consumer can be added again.
func TestRouterPanicInPrepare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		panics, opened := true, 0
		c := hooked(b, "bad", func(context.Context) error {
			if opened++; panics && opened%2 == 0 { // with one worker open
				panic("no such thing")
			}
			return nil
		}, wherry.Workers(2))
		router := wherry.NewRouter("", wherry.Mount(noting(b, &seen, "a"), c))
		err := router.Run(t.Context())
		wantError(t, err, "wherry: consume bad: opening it panicked: no such thing")
		p, ok := errors.AsType[*wherry.PanicError](err)
		assert.True(t, ok && strings.Contains(string(p.Stack), "TestRouterPanicInPrepare"), "it has the stack")

		assert.NoError(t, router.Stop(t.Context(), "bad"))
		r := start(t, router)
		synctest.Wait()
		wantError(t, router.Add(t.Context(), c), "opening it panicked")
		assert.Equal(t, router.Names(), []string{"a"})
		publish(t, b, texts("a"), "1")
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"a 1"})
		panics = false
		assert.NoError(t, router.Add(t.Context(), c))
		r.mustEnd()
	})
}

// Ten goroutines change a router that runs, a hundred times each, beside who looks at it. Nothing of it is left.
func TestRouterManyChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		inner := wherry.NewRouter("in")
		router := wherry.NewRouter("out", wherry.Mount(inner, noting(b, &seen, "stays")))
		r := start(t, router)
		synctest.Wait()
		var all sync.WaitGroup
		for g := range 10 {
			all.Go(func() {
				into := []*wherry.Router{router, inner}[g%2]
				own := noting(b, &seen, fmt.Sprintf("own%d", g))
				for i := range 100 {
					c := own
					if i%3 == 0 {
						c = noting(b, &seen, "shared", wherry.Name("shared"))
					}
					if err := into.Add(t.Context(), c); err != nil {
						wantError(t, err, "two consumers are named")
						continue
					}
					name := c.Name()
					switch rand.IntN(4) {
					case 0:
						assert.NoError(t, router.Pause(name, "test"))
					case 1:
						assert.True(t, len(router.Names()) > 1, "it is there")
					case 2:
						wherry.Explain(router)
					default:
						router.Health()
					}
					assert.NoError(t, router.Stop(t.Context(), name))
				}
			})
		}
		all.Wait()
		assert.Equal(t, router.Names(), []string{"out/stays"})
		publish(t, b, texts("stays"), "1")
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"stays 1"})
	})
}
