package wherry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// texts is a topic of the tests of routers.
func texts(name string) wherry.Topic[string] { return wherry.NewTopic(name, codec.Text{}) }

// noting is a consumer that notes what it handles, by the name of its topic.
func noting(b *mem.Broker, seen *calls, topic string, opts ...wherry.ConsumeOption) *wherry.Consumer {
	return wherry.Consume(wherry.Queue(b, texts(topic)), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		seen.add("%s %s", topic, m.Value)
		return wherry.Ack()
	}, opts...)
}

// wantError checks that an error says all of the parts.
func wantError(tb testing.TB, err error, parts ...string) {
	tb.Helper()
	if err == nil {
		tb.Errorf("no error, want one that says %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			tb.Errorf("%q does not say %q", err, part)
		}
	}
}

// traced is middleware that notes its name.
func traced(seen *calls, name string) wherry.Middleware {
	return func(next wherry.Next) wherry.Next {
		return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
			seen.add("%s", name)
			return next(ctx, m)
		}
	}
}

func TestRouterSharesMiddlewareAndPrefix(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		var told events
		c := noting(b, &seen, "orders", wherry.Use(traced(&seen, "own")))
		batch := wherry.ConsumeBatch(wherry.Queue(b, texts("mails")), func(_ context.Context, ms *wherry.MessageBatch[string]) wherry.Outcome {
			seen.add("batch of %d", ms.Len())
			return wherry.Ack()
		}, wherry.Name("digest"))
		inner := wherry.NewRouter("billing", wherry.ShareSingle(wherry.Use(traced(&seen, "inner"))), wherry.Mount(c, batch))
		outer := wherry.NewRouter("eu",
			wherry.Share(wherry.OnEvent(told.record)),
			wherry.ShareSingle(wherry.Use(traced(&seen, "outer"), traced(&seen, "outer 2"))),
			wherry.ShareBatch(wherry.BatchAge(0)), wherry.Mount(inner))
		assert.Equal(t, outer.Names(), []string{"eu/billing/digest", "eu/billing/orders"})
		assert.Equal(t, c.Name(), "eu/billing/orders")
		assert.Equal(t, c.Health().Consumer, "eu/billing/orders")

		publish(t, b, texts("orders"), "1")
		publish(t, b, texts("mails"), "2")
		r := start(t, outer)
		synctest.Wait()
		r.mustEnd()
		got := seen.all()
		slices.Sort(got)
		assert.Equal(t, got, []string{"batch of 1", "inner", "orders 1", "outer", "outer 2", "own"})
		var order []string
		for _, s := range seen.all() {
			if !strings.HasPrefix(s, "batch") {
				order = append(order, s)
			}
		}
		assert.Equal(t, order, []string{"outer", "outer 2", "inner", "own", "orders 1"})
		for _, e := range eventsOf[*wherry.Started](&told) {
			assert.True(t, strings.HasPrefix(e.Consumer, "eu/billing/"), e.Consumer)
		}
		assert.Equal(t, len(eventsOf[*wherry.Started](&told)), 2)
		assert.Equal(t, c.Health().Consumer, "eu/billing/orders")
	})
}

// limitsOf is what a router's consumers would run with.
func limitsOf(r wherry.Runner) map[string]wherry.ConsumerExplanation {
	out := map[string]wherry.ConsumerExplanation{}
	for _, c := range wherry.Explain(r).Consumers {
		out[c.Name] = c
	}
	return out
}

// The nearest to the consumer wins: its own option, its router's, the outer router's, its topic's, the default.
func TestRouterNearestOptionWins(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	ack := wherry.Func(func(context.Context, string) error { return nil })
	topic := wherry.NewTopic("a", codec.Text{}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 9}), wherry.BodyLimit(99))
	own := wherry.Consume(wherry.Queue(b, topic), ack, wherry.Name("own"),
		wherry.DrainTime(0), wherry.NoHandlerTimeout(), wherry.NoDeadLetters(), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2}))
	shares := wherry.Consume(wherry.Queue(b, topic), ack, wherry.Name("shares"))
	inner := wherry.NewRouter("", wherry.Mount(own, shares),
		wherry.Share(wherry.HandlerTimeout(time.Minute), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3})))
	outer := wherry.NewRouter("o", wherry.Mount(inner), wherry.ShareSingle(wherry.Concurrency(7)), wherry.Share(
		wherry.DrainTime(time.Second), wherry.HandlerTimeout(time.Hour), wherry.DeadLetterTo("graves"), wherry.Workers(2)))

	all := limitsOf(outer)
	got := all["o/own"]
	assert.Equal(t, got.Limits.DrainTime, 0)
	assert.Equal(t, got.Limits.HandlerTimeout, 0)
	assert.Equal(t, got.Retries.MaxAttempts, 2)
	assert.Equal(t, got.Retries.DeadLetters, "")
	got = all["o/shares"]
	assert.Equal(t, got.Limits.DrainTime, time.Second)
	assert.Equal(t, got.Limits.HandlerTimeout, time.Minute)
	assert.Equal(t, got.Retries.MaxAttempts, 3)
	assert.Equal(t, got.Retries.DeadLetters, "graves")
	assert.Equal(t, got.Limits.Concurrency, 7)
	assert.Equal(t, got.Limits.Workers, 2)
	assert.Equal(t, got.Limits.BodyLimit, 99)
	assert.Equal(t, got.Limits.GraceTime, time.Second)
}

func TestRouterReportsMistakes(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	var seen calls
	twice := noting(b, &seen, "a")
	inner := wherry.NewRouter("in")
	var none *wherry.Router
	var nobody *wherry.Consumer
	r := wherry.NewRouter("no slash/", nil, wherry.Mount(twice, twice, nil, none, nobody, &wherry.Consumer{}),
		wherry.Share(wherry.Workers(0), nil), wherry.ShareSingle(nil), wherry.ShareBatch(nil), wherry.ShareSingle(wherry.Name("all")),
		wherry.Mount(inner, noting(b, &seen, "b", wherry.Prefetch(-1)), noting(b, &seen, "x", wherry.Name("a"))))
	wherry.NewRouter("second", wherry.Mount(inner))
	other := wherry.NewRouter("second", wherry.Mount(twice, inner))

	err := r.Run(t.Context())
	wantError(t, err, "prefix: ", "a router option is nil", "consumer no slash//a is in it already", "what is mounted is nil",
		"a mounted router is nil", "a mounted consumer is nil or the zero value", "shared options: workers is 0",
		"a shared option is nil", "a name cannot be shared", "prefetch is -1",
		`two consumers are named "no slash//a", that of topic a and that of topic x`)
	assert.Equal(t, strings.Count(err.Error(), "workers is 0"), 1)
	err = wherry.Run(t.Context(), wherry.Join(other), none)
	wantError(t, err, "wherry: router second: consumer a is in another router already (no slash/)",
		"router no slash//in is in another router already", "runner 2 is nil")
	_, err = none.Prepare(t.Context())
	wantError(t, err, "the router is nil")
	wantError(t, none.Add(t.Context(), twice), "the router is nil")
	wantError(t, inner.Run(t.Context()), "it is in another router: run the outermost")
	wantError(t, twice.Run(t.Context()), "shared options: workers is 0")
	wantError(t, r.Add(t.Context(), noting(b, &seen, "c")), "a router option is nil")
	assert.Equal(t, seen.all(), nil)
}

// What ran keeps what it ran with, so it cannot be put where other options hold.
func TestRouterTakesNobodyWhoRanElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		alone, inside := noting(b, &seen, "a"), noting(b, &seen, "b")
		r := start(t, alone)
		synctest.Wait()
		r.mustEnd()
		inner := wherry.NewRouter("in", wherry.Mount(inside))
		r = start(t, inner)
		synctest.Wait()
		wantError(t, inner.Run(t.Context()), "already running")
		wantError(t, wherry.NewRouter("out", wherry.Mount(inner)).Run(t.Context()), "router in runs: mount it before")
		r.mustEnd()

		wantError(t, wherry.NewRouter("x", wherry.Mount(alone)).Run(t.Context()), "consumer a ran elsewhere before")
		wantError(t, wherry.NewRouter("out", wherry.Mount(inner)).Run(t.Context()), "consume in/b: it ran before it was mounted here")
		assert.Equal(t, inside.Name(), "in/b")
	})
}

// An empty router waits for what is added, and ends with its context.
func TestRouterEmpty(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		var router wherry.Router
		assert.Equal(t, router.Names(), []string{})
		r := start(t, &router)
		synctest.Wait()
		assert.NoError(t, router.Add(t.Context()))
		assert.NoError(t, router.Add(t.Context(), noting(b, &seen, "a")))
		publish(t, b, texts("a"), "1")
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"a 1"})
		r.mustEnd()
		assert.Equal(t, router.Health()[0].State, wherry.StateStopped)
	})
}

// One that fails ends the Run, as it does without a router, and the others drain.
func TestRouterFailureEndsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, other := newMem(t), mem.New(mem.Config{})
		var seen calls
		publish(t, b, texts("a"), "1", "2")
		slow := wherry.Consume(wherry.Queue(b, texts("a")), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			time.Sleep(time.Second)
			seen.add("%s", m.Value)
			return wherry.Ack()
		})
		router := wherry.NewRouter("", wherry.Mount(slow, noting(other, &seen, "b")))
		r := start(t, router)
		synctest.Wait()
		assert.NoError(t, other.Close(t.Context()))
		<-r.done
		assert.ErrorIs(t, r.err, wherry.ErrClosed)
		assert.Equal(t, seen.all(), []string{"1", "2"})
		r.stop()
	})
}

func TestRouterKeepRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, other, third := newMem(t), mem.New(mem.Config{}), mem.New(mem.Config{})
		var seen calls
		inner := wherry.NewRouter("", wherry.Mount(noting(other, &seen, "b"), noting(third, &seen, "c")))
		router := wherry.NewRouter("", wherry.KeepRunning(), wherry.Mount(inner, noting(b, &seen, "a")))
		r := start(t, router)
		synctest.Wait()
		assert.NoError(t, other.Close(t.Context()))
		assert.NoError(t, third.Close(t.Context()))
		synctest.Wait()
		publish(t, b, texts("a"), "1")
		synctest.Wait()
		assert.Equal(t, seen.all(), []string{"a 1"})
		assert.Equal(t, router.Health()[1].State, wherry.StateStopped)
		assert.Equal(t, router.Names(), []string{"a", "b", "c"})

		err := router.Stop(t.Context(), "c")
		assert.ErrorIs(t, err, wherry.ErrClosed)
		assert.Equal(t, router.Names(), []string{"a", "b"})
		err = r.end()
		assert.ErrorIs(t, err, wherry.ErrClosed)
		wantError(t, err, "consume b")
		assert.True(t, !strings.Contains(err.Error(), "consume c"), "what Stop returned is not returned again")
	})
}

// What was added while it runs is emptied with the others at the end.
func TestRouterAddedBelongToTheFleet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var seen calls
		p, err := wherry.NewPublisher(t.Context(), b, texts("second"))
		assert.NoError(t, err)
		first := wherry.Consume(wherry.Queue(b, texts("first")), func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
			time.Sleep(time.Second)
			if err := p.Publish(ctx, &m.Value); err != nil {
				return wherry.Retry(err)
			}
			return wherry.Ack()
		})
		router := wherry.NewRouter("", wherry.Mount(first))
		r := start(t, router)
		synctest.Wait()
		assert.NoError(t, router.Add(t.Context(), noting(b, &seen, "second")))
		publish(t, b, texts("first"), "1", "2", "3")
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"second 1", "second 2", "second 3"})
	})
}

// A stop while a router opens is a clean one.
func TestRouterStopWhileOpening(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	var seen calls
	router := wherry.NewRouter("", wherry.Mount(noting(b, &seen, "a")))
	ended, end := context.WithCancel(t.Context())
	end()
	assert.NoError(t, router.Run(ended))
	bad := wherry.Consume(wherry.Queue(b, texts("b")), wherry.Handler[string](nil))
	err := wherry.Run(t.Context(), router, bad)
	wantError(t, err, "handler is nil")
	assert.True(t, !errors.Is(err, context.Canceled), "the router is closed without an error")
	assert.Equal(t, router.Health()[0].State, wherry.StateStopped)
}
