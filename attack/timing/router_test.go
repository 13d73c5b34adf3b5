package timing_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// Routers that change while they stop, and stop while they change.
func TestRouters(t *testing.T) {
	t.Parallel()
	attack(t, "stop one by name while its retries wait", plain(), routerStopsOneInRetries)
	attack(t, "stop one by name in the moment the run stops", plain(), routerStopsTwice)
	attack(t, "a handler stops its neighbour", plain(), routerHandlerStopsNeighbour)
	attack(t, "add one while it opens, and stop", watched(plain()), routerAddsWhileOpening)
	attack(t, "add one to two routers at once", plain(), routerAddsToTwo)
	attack(t, "pause by name, stop, and add again", plain(), routerPausesAndStops)
	attack(t, "one fails and the others are kept running", watched(plain()), routerKeepsRunning)
	attack(t, "one is abandoned by name while another is added in its place", plain(), routerReplacesAbandoned)
	attack(t, "everything at once, seed 51", plain(), routerStorm)
}

// named is a consumer of the book's topic with the topic's name.
func (b *book) named(h wherry.Handler[item], opts ...wherry.ConsumeOption) *wherry.Consumer {
	return wherry.Consume(wherry.Queue(b.w.broker, b.topic), b.handler(h), opts...)
}

func routerStopsOneInRetries(w *world) {
	a, b := w.book("a", steadily(3, 5*time.Second)), w.book("b")
	a.exact, b.exact, a.attempts = true, true, 3
	router := wherry.NewRouter("", wherry.Mount(a.named(fails(1)), b.named(takes(time.Second))))
	a.publish(series(10, "x")...)
	b.publish(series(10, "x")...)
	r := w.start(router)
	time.Sleep(1500 * time.Millisecond)
	assert.NoError(w, router.Stop(w.Context(), "a"))
	assert.Equal(w, a.waits(), 10) // left to the broker, which is not emptied for one
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
}

func routerStopsTwice(w *world) {
	a, b := w.book("a"), w.book("b")
	a.publish(series(5, "x")...)
	b.publish(series(5, "x")...)
	router := wherry.NewRouter("", wherry.Mount(a.named(takes(time.Second)), b.named(takes(time.Second))))
	r := w.start(router)
	time.Sleep(500 * time.Millisecond)
	told := make(chan error, 3)
	for range 2 {
		go func() { told <- router.Stop(w.Context(), "a") }()
	}
	r.stop()
	go func() { told <- router.Stop(w.Context(), "b") }()
	r.endAnyhow()
	for range 3 {
		if err := <-told; err != nil {
			_, left := errors.AsType[*wherry.AbandonedError](err)
			assert.True(w, left || errors.Is(err, wherry.ErrNoConsumer), err.Error())
		}
	}
	assert.Equal(w, a.acks()+a.waits(), 5)
	assert.Equal(w, b.acks()+b.waits(), 5)
}

func routerHandlerStopsNeighbour(w *world) {
	a, b := w.book("a"), w.book("b")
	a.exact, b.exact = true, true
	router := wherry.NewRouter("")
	assert.NoError(w, router.Add(w.Context(), a.named(func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Value.N == 0 {
			assert.NoError(w, router.Stop(ctx, "b"))
		}
		return wherry.Ack()
	}), b.named(takes(time.Second))))
	b.publish(series(5, "x")...)
	r := w.start(router)
	time.Sleep(500 * time.Millisecond)
	a.publish(series(5, "x")...)
	time.Sleep(5 * time.Second)
	assert.Equal(w, len(router.Names()), 1)
	assert.Equal(w, b.acks(), 1)
	r.mustEnd()
	assert.Equal(w, a.acks(), 5)
}

func routerAddsWhileOpening(w *world) {
	a, b := w.book("a"), w.book("b")
	router := wherry.NewRouter("", wherry.Mount(a.named(ack)))
	r := w.start(router)
	time.Sleep(time.Second)
	w.stand.opening(func(ctx context.Context) error { return wait(ctx, time.Hour) })
	told := make(chan error)
	go func() { told <- router.Add(w.Context(), b.named(ack)) }()
	time.Sleep(time.Second)
	a.publish(series(5, "x")...)
	r.mustEnd()
	assert.ErrorIs(w, <-told, wherry.ErrStopping)
	w.stand.opening(nil)
	assert.Equal(w, a.acks(), 5)
}

func routerAddsToTwo(w *world) {
	a := w.book("a")
	a.exact = true
	one, two := wherry.NewRouter("one"), wherry.NewRouter("two")
	r, s := w.start(one), w.start(two)
	time.Sleep(time.Second)
	c := a.named(ack)
	told := make(chan error, 2)
	for _, router := range []*wherry.Router{one, two} {
		go func() { told <- router.Add(w.Context(), c) }()
	}
	first, second := <-told, <-told
	assert.True(w, (first == nil) != (second == nil), "one of the two has it")
	a.publish(series(5, "x")...)
	time.Sleep(time.Second)
	r.mustEnd()
	s.mustEnd()
	assert.Equal(w, a.acks(), 5)
}

func routerPausesAndStops(w *world) {
	a := w.book("a")
	a.exact = true
	c := a.named(takes(time.Second))
	router := wherry.NewRouter("", wherry.Mount(c))
	a.publish(series(6, "x")...)
	r := w.start(router)
	for range 3 {
		time.Sleep(1500 * time.Millisecond)
		assert.NoError(w, router.Pause("a", "an operator"))
		assert.NoError(w, router.Stop(w.Context(), "a"))
		assert.ErrorIs(w, router.Resume("a"), wherry.ErrNoConsumer)
		assert.NoError(w, router.Add(w.Context(), c)) // and its pause has ended
	}
	r.mustEnd()
	assert.Equal(w, a.acks(), 6)
}

func routerKeepsRunning(w *world) {
	w.within = 5*time.Second + 2*grace
	a, b := w.book("a"), w.book("b")
	b.exact = true
	router := wherry.NewRouter("", wherry.KeepRunning(), wherry.Share(wherry.DrainTime(5*time.Second)),
		wherry.Mount(a.named(takes(time.Second)), b.named(takes(time.Second))))
	a.publish(series(5, "x")...)
	b.publish(series(5, "x")...)
	r := w.start(router)
	time.Sleep(1500 * time.Millisecond)
	w.stand.opening(func(context.Context) error { return wherry.ErrClosed })
	w.stand.kill(w, "a", 0)
	time.Sleep(time.Minute)
	assert.Equal(w, b.acks(), 5)
	w.stand.opening(nil)
	assert.ErrorIs(w, r.end(), wherry.ErrClosed)
}

func routerReplacesAbandoned(w *world) {
	a := w.book("a")
	a.publish(series(3, "x")...)
	let := make(chan struct{})
	router := wherry.NewRouter("", wherry.Mount(a.named(func(context.Context, *wherry.Message[item]) wherry.Outcome {
		<-let
		return wherry.Reject(errTry)
	}, wherry.DrainTime(time.Second))))
	r := w.start(router)
	time.Sleep(time.Second)
	told := make(chan error)
	go func() { told <- router.Stop(w.Context(), "a") }()
	time.Sleep(500 * time.Millisecond)
	next := a.named(takes(time.Second))
	assert.True(w, router.Add(w.Context(), next) != nil, "the name is in use until it has stopped")
	left, ok := errors.AsType[*wherry.AbandonedError](<-told)
	assert.True(w, ok && left.Handlers == 1, "one handler is abandoned")
	assert.NoError(w, router.Add(w.Context(), next))
	time.Sleep(500 * time.Millisecond)
	close(let)
	time.Sleep(5 * time.Second)
	r.mustEnd()
	assert.Equal(w, a.acks(), 3)
	assert.Equal(w, a.letters(), 0)
}

func routerStorm(w *world) {
	w.seed(51)
	names := []string{"a", "b", "c"}
	router := wherry.NewRouter("")
	r := w.start(router)
	time.Sleep(time.Second)
	books, consumers := map[string]*book{}, map[string]*wherry.Consumer{}
	for _, name := range names {
		b := w.book(name, steadily(1000, 50*time.Millisecond))
		b.exact, b.attempts = true, 0
		books[name] = b
		consumers[name] = b.named(func(ctx context.Context, _ *wherry.Message[item]) wherry.Outcome {
			if wait(ctx, w.ms(20)) != nil || w.roll(5) == 0 {
				return wherry.Retry(errTry)
			}
			return wherry.Ack()
		}, wherry.Concurrency(2))
		b.publish(series(60, "x")...)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 60 {
				name := names[w.roll(3)]
				switch w.roll(4) { // each may be out of turn, and then is refused
				case 0:
					_ = router.Add(w.Context(), consumers[name])
				case 1:
					_ = router.Stop(w.Context(), name)
				case 2:
					_ = router.Pause(name, "a storm")
				case 3:
					_ = router.Resume(name)
				}
				time.Sleep(w.ms(30))
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		_ = router.Add(w.Context(), consumers[name])
		assert.NoError(w, router.Resume(name))
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	for _, name := range names {
		assert.Equal(w, books[name].acks(), 60)
	}
}
