package middleware_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// uncounted fails the test when a message loses an attempt or is given up.
func uncounted(t *testing.T) wherry.ConsumerOption {
	t.Helper()
	return wherry.OnEvent(func(e wherry.Event) {
		switch e := e.(type) {
		case *wherry.Retried:
			if e.ID != "fails" {
				t.Errorf("%s was retried: %v", e.ID, e.Err)
			}
		case *wherry.DeadLettered:
			t.Errorf("%s was given up: %v", e.ID, e.Err)
		}
	})
}

// What lanes already hold when it opens goes on where it is with its handler, and is put off where it is not.
func TestBreakerOpensUnderLanes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 1, OpenFor: 10 * time.Second, OnChange: r.changes})
		hesitate := wherry.Use(func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				if m.ID() == "hesitates" && r.sinceStart() == 0 {
					time.Sleep(time.Second)
				}
				return next(ctx, m)
			}
		})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(fmt.Sprintf("%s attempt %d", m.Value, m.Attempt()))
			switch m.Value {
			case "fails":
				return wherry.Retry(errDown)
			case "works":
				time.Sleep(2 * time.Second) // an old success, which closes nothing
				r.note("works ended")
			}
			return wherry.Ack()
		}
		r.publish("works", "hesitates")
		r.in(500*time.Millisecond, func() { r.publish("fails") })
		r.runHard(20*time.Second, r.consume(h, hesitate, b.Option(), slowly(), wherry.Concurrency(3), wherry.DrainTime(0),
			uncounted(t)))
		assert.Equal(t, r.log.take(), []string{
			"works attempt 1 0s", "fails attempt 1 500ms", "closed to open 500ms", "works ended 2s",
			"open to half-open 10.5s", "hesitates attempt 1 10.5s", "half-open to closed 10.5s",
		})
	})
}

// In the half-open state the stated number goes through, and the others wait for what becomes of them.
func TestBreakerTrials(t *testing.T) {
	t.Parallel()
	for _, works := range []bool{true, false} {
		t.Run(fmt.Sprintf("works=%v", works), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				var inside crowd
				var half atomic.Bool
				b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 1, OpenFor: 10 * time.Second, Trials: 2})
				h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
					if m.Value == "fails" {
						return wherry.Retry(errDown)
					}
					half.Store(b.State() == middleware.BreakerHalfOpen)
					if half.Load() {
						inside.enter()
						defer inside.leave()
					}
					time.Sleep(time.Second)
					if !works {
						return wherry.Retry(errDown)
					}
					return wherry.Ack()
				}
				r.publish("fails")
				r.in(time.Second, func() { r.publish(numbers(8)...) })
				r.in(10500*time.Millisecond, func() {
					assert.Equal(t, b.State(), middleware.BreakerHalfOpen)
					assert.Equal(t, inside.now.Load(), 2)
				})
				r.in(11500*time.Millisecond, func() {
					want := middleware.BreakerOpen
					if works {
						want = middleware.BreakerClosed
					}
					assert.Equal(t, b.State(), want)
				})
				r.runHard(15*time.Second, r.consume(h, b.Option(), slowly(), wherry.Concurrency(8), wherry.DrainTime(0)))
				assert.Equal(t, inside.most.Load(), 2)
				assert.Equal(t, inside.all.Load(), 2)
			})
		})
	}
}

// A trial that says nothing makes room for another; a panic says that things are not well.
func TestBreakerTrialWithoutVerdict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 1, OpenFor: 10 * time.Second, OnChange: r.changes})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(m.Value)
			switch m.Value {
			case "fails":
				return crash(errDown)
			case "defers":
				time.Sleep(time.Second)
				return wherry.Defer(time.Hour)
			}
			return wherry.Ack()
		}
		r.publish("fails")
		r.in(time.Second, func() { r.publish("defers") })
		r.in(10500*time.Millisecond, func() { r.publish("waits") })
		r.runHard(20*time.Second, r.consume(h, b.Option(), slowly(), wherry.Concurrency(2), wherry.DrainTime(0)))
		assert.Equal(t, r.log.take(), []string{
			"fails 0s", "closed to open 0s", "open to half-open 10s", "defers 10s", "waits 11s", "half-open to closed 11s",
		})
	})
}

// A trial whose handler hangs does not keep it half-open for ever.
func TestBreakerTrialThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 1, OpenFor: 10 * time.Second})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(m.Value)
			switch m.Value {
			case "fails":
				return wherry.Retry(errDown)
			case "hangs":
				time.Sleep(time.Minute) // and fails at last, when nobody asks any more
				return wherry.Retry(errDown)
			}
			return wherry.Ack()
		}
		r.publish("fails")
		r.in(time.Second, func() { r.publish("hangs") })
		r.in(21*time.Second, func() { r.publish("works") })
		r.runHard(80*time.Second, r.consume(h, b.Option(), slowly(), wherry.Concurrency(2), wherry.DrainTime(0)))
		assert.Equal(t, r.log.take(), []string{"fails 0s", "hangs 10s", "works 21s"})
		assert.Equal(t, b.State(), middleware.BreakerClosed)
	})
}

// It is given up by those that wait already, too: after an open time all lanes are taken, and nobody else would ask.
func TestBreakerWaitersGiveUpATrialThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 1, OpenFor: 10 * time.Second})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			if m.Value == "fails" {
				return wherry.Retry(errDown)
			}
			r.note("tried")
			if r.sinceStart() == 10*time.Second {
				time.Sleep(time.Hour)
			}
			return wherry.Ack()
		}
		r.publish("fails")
		r.in(time.Second, func() { r.publish("a", "b", "c") })
		r.runHard(time.Minute, r.consume(h, b.Option(), slowly(), wherry.Concurrency(3), wherry.DrainTime(0), wherry.NoHandlerTimeout()))
		assert.Equal(t, r.log.take(), []string{"tried 10s", "tried 20s", "tried 20s"})
		assert.Equal(t, b.State(), middleware.BreakerClosed)
		time.Sleep(time.Hour)
	})
}

// Waiting for a verdict does not hold up a stop for longer than the drain time, and costs no attempt.
func TestBreakerStopsWhileHalfOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 1, OpenFor: 10 * time.Second})
		h := func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(fmt.Sprintf("%s attempt %d", m.Value, m.Attempt()))
			if m.Value == "fails" || r.sinceStart() > 10*time.Second && r.sinceStart() < 15*time.Second {
				return wherry.Retry(errDown)
			}
			if r.sinceStart() == 10*time.Second {
				<-ctx.Done() // because of the drain, which says nothing about what it depends on
				return wherry.Retry(context.Cause(ctx))
			}
			return wherry.Ack()
		}
		c := r.consume(h, b.Option(), slowly(), wherry.Concurrency(3), wherry.DrainTime(time.Second), uncounted(t))
		r.publish("fails")
		r.in(time.Second, func() { r.publish("a", "b", "c") })
		r.runHard(11*time.Second, c)
		assert.Equal(t, b.State(), middleware.BreakerHalfOpen)
		lines := r.log.take()
		assert.Equal(t, len(lines), 2)
		time.Sleep(20 * time.Second)
		r.runHard(time.Second, c)
		assert.Equal(t, len(r.log.take()), 3)
		assert.Equal(t, b.State(), middleware.BreakerClosed)
	})
}

// A consumer that stops while it is open leaves nothing behind, and one that runs again begins paused for what is left.
func TestBreakerOutlivesRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var p patient
		p.down.Store(true)
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 1, OpenFor: 10 * time.Second})
		events := wherry.OnEvent(func(e wherry.Event) {
			switch e.(type) {
			case *wherry.Started, *wherry.Stopped, *wherry.Paused, *wherry.Resumed, *wherry.Deferred:
				r.note(fmt.Sprintf("%T", e))
			}
		})
		c := r.consume(p.call, b.Option(), slowly(), wherry.DrainTime(0), events)
		r.publish("a", "b", "c")
		r.runHard(time.Second, c)
		assert.Equal(t, p.calls.Load(), 1)
		time.Sleep(4 * time.Second)
		p.down.Store(false)
		r.in(4*time.Second, func() { assert.Equal(t, p.calls.Load(), 1) })
		r.runHard(10*time.Second, c)
		assert.Equal(t, p.calls.Load(), 3)
		assert.Equal(t, r.log.take(), []string{
			"*wherry.Started 0s", "*wherry.Paused 0s", "*wherry.Stopped 1s",
			"*wherry.Started 5s", "*wherry.Paused 5s", "*wherry.Resumed 10s", "*wherry.Stopped 15s",
		})

		// Whose time was over while nothing ran is half-open, and begins at once.
		p.down.Store(true)
		r.publish("d", "e")
		r.runHard(time.Second, c)
		time.Sleep(time.Hour)
		assert.Equal(t, b.State(), middleware.BreakerHalfOpen)
		p.down.Store(false)
		r.runHard(time.Second, c)
		assert.Equal(t, b.State(), middleware.BreakerClosed)
	})
}

func TestBreakerFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		b := middleware.NewBreaker(middleware.BreakerConfig{
			InARow: 2, Failed: func(o wherry.Outcome) bool { return o.Kind() == wherry.KindReject },
		})
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(m.Value)
			if m.Value == "0001" {
				return wherry.Retry(errDown) // neither: it does not end the row
			}
			return wherry.Reject(errDown)
		}
		r.publish(numbers(5)...)
		r.runHard(time.Second, r.consume(h, b.Option(), slowly(), wherry.DrainTime(0)))
		assert.Equal(t, r.log.take(), []string{"0000 0s", "0001 0s", "0002 0s"})
	})
}

// Each message of a batch counts, as a trial the batch does.
func TestBreakerBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var down atomic.Bool
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 3, OpenFor: 10 * time.Second, OnChange: r.changes})
		h := func(_ context.Context, mb *wherry.MessageBatch[string]) wherry.Outcome {
			r.note(fmt.Sprint(mb.Len()))
			if down.Load() {
				mb.Set(1, wherry.Ack())
				return wherry.Retry(errDown)
			}
			return wherry.Ack()
		}
		c := r.consumeBatch(h, b.Option(), slowly(), wherry.BatchSize(4), wherry.DrainTime(0))
		down.Store(true)
		r.publish(numbers(8)...)
		r.in(time.Second, func() {
			assert.Equal(t, c.Health().State, wherry.StatePaused)
			r.publish("a", "b")
		})
		r.in(15*time.Second, func() {
			down.Store(false)
			r.publish("c")
		})
		r.runHard(25*time.Second, c)
		assert.Equal(t, r.log.take(), []string{
			"4 0s", "4 0s", "closed to open 0s", // the last two of the first batch, and the first of the second
			"open to half-open 10.25s", "2 10.25s", "half-open to open 10.25s", // one of two succeeded
			"open to half-open 20.5s", "1 20.5s", "half-open to closed 20.5s",
		})
	})
}
