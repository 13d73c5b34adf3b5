package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

var errDown = errors.New("down")

// A patient is a service that handlers call; it may be down.
type patient struct {
	down  atomic.Bool
	calls atomic.Int64
}

// call is a handler that calls the service.
func (p *patient) call(context.Context, *wherry.Message[string]) wherry.Outcome {
	p.calls.Add(1)
	if p.down.Load() {
		return wherry.Retry(errDown)
	}
	return wherry.Ack()
}

// slowly is a policy whose retries come long after everything that a test looks at.
func slowly() wherry.PolicyOption {
	return wherry.RetryWith(wherry.RetryPolicy{Delays: []time.Duration{time.Hour}, Jitter: wherry.NoJitter})
}

// changes notes each change of state.
func (r *rig) changes(from, to middleware.BreakerState) { r.note(fmt.Sprintf("%v to %v", from, to)) }

// in calls f after d, beside the test.
func (r *rig) in(d time.Duration, f func()) {
	go func() {
		time.Sleep(d)
		f()
	}()
}

// runHard runs consumers for d and does not wait for what is left in the broker.
func (r *rig) runHard(d time.Duration, rs ...wherry.Runner) {
	r.t.Helper()
	ctx, stop := context.WithTimeout(r.t.Context(), d)
	defer stop()
	if err := wherry.Run(ctx, rs...); err != nil {
		_, left := errors.AsType[*wherry.AbandonedError](err)
		assert.True(r.t, left, err.Error())
	}
}

func TestBreakerPausesAndComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var p patient
		p.down.Store(true)
		b := middleware.NewBreaker(middleware.BreakerConfig{
			Name: "billing", InARow: 3, OpenFor: 10 * time.Second, OnChange: r.changes,
		})
		assert.Equal(t, b.State(), middleware.BreakerClosed)
		c := r.consume(p.call, b.Option(), slowly(), wherry.DrainTime(0))
		r.publish(numbers(20)...)
		r.in(time.Second, func() {
			assert.Equal(t, p.calls.Load(), 3)
			assert.Equal(t, b.State(), middleware.BreakerOpen)
			h := c.Health()
			assert.Equal(t, h.State, wherry.StatePaused)
			assert.Equal(t, h.Cause, "breaker billing is open: 3 failures in a row")
		})
		r.in(11*time.Second, func() { // one trial, which failed
			assert.Equal(t, p.calls.Load(), 4)
			assert.Equal(t, b.State(), middleware.BreakerOpen)
			assert.Equal(t, c.Health().Cause, "breaker billing is open: a trial failed")
			p.down.Store(false)
		})
		r.in(21*time.Second, func() {
			assert.Equal(t, p.calls.Load(), 20)
			assert.Equal(t, b.State(), middleware.BreakerClosed)
			assert.Equal(t, c.Health().State, wherry.StateRunning)
		})
		r.runHard(30*time.Second, c)
		assert.Equal(t, r.log.take(), []string{
			"closed to open 0s", "open to half-open 10s", "half-open to open 10s",
			"open to half-open 20s", "half-open to closed 20s",
		})
	})
}

// Failures that are not in a row open it by their share, of the window and not of all time.
func TestBreakerRatio(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		every time.Duration // between messages, of which each second fails
		opens bool
	}{{100 * time.Millisecond, true}, {2 * time.Second, false}} {
		t.Run(c.every.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				n := 0
				h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
					time.Sleep(c.every)
					n++
					if n%2 == 0 {
						return wherry.Retry(errDown)
					}
					return wherry.Ack()
				}
				b := middleware.NewBreaker(middleware.BreakerConfig{Ratio: 0.5, Window: 10 * time.Second, MinCalls: 10, OpenFor: time.Hour})
				r.publish(numbers(40)...)
				r.runHard(80*time.Second, r.consume(h, b.Option(), slowly(), wherry.DrainTime(0)))
				if c.opens {
					assert.Equal(t, b.State(), middleware.BreakerOpen)
					assert.Equal(t, n, 10)
				} else {
					assert.Equal(t, b.State(), middleware.BreakerClosed)
				}
			})
		})
	}
}

// What one consumer finds out pauses the others too, also one that begins later.
func TestBreakerOverConsumers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var p, q patient
		p.down.Store(true)
		b := middleware.NewBreaker(middleware.BreakerConfig{InARow: 2, OpenFor: 10 * time.Second})
		other := wherry.NewTopic("others", codec.Text{})
		pub, err := wherry.NewPublisher(t.Context(), r.broker, other)
		assert.NoError(t, err)
		publish := func() {
			for _, v := range numbers(4) {
				assert.NoError(t, pub.Publish(t.Context(), &v))
			}
		}
		publish()
		one := r.consume(p.call, b.Option(), slowly(), wherry.DrainTime(0))
		two := wherry.Consume(wherry.Queue(r.broker, other), q.call, b.Option(), wherry.DrainTime(0))
		r.in(time.Second, func() {
			assert.Equal(t, q.calls.Load(), 4)
			r.publish(numbers(4)...)
		})
		r.in(2*time.Second, func() {
			assert.Equal(t, p.calls.Load(), 2)
			publish()
		})
		r.in(3*time.Second, func() {
			assert.Equal(t, q.calls.Load(), 4)
			assert.Equal(t, two.Health().State, wherry.StatePaused)
			p.down.Store(false)
		})
		r.runHard(15*time.Second, one, two)
		assert.Equal(t, p.calls.Load(), 4)
		assert.Equal(t, q.calls.Load(), 8)

		// A consumer that the breaker has not met is paused by its first message.
		p.down.Store(true)
		r.publish(numbers(2)...)
		r.runHard(time.Second, one)
		assert.Equal(t, b.State(), middleware.BreakerOpen)
		third := wherry.NewTopic("third", codec.Text{})
		pub3, err := wherry.NewPublisher(t.Context(), r.broker, third)
		assert.NoError(t, err)
		for _, v := range numbers(3) {
			assert.NoError(t, pub3.Publish(t.Context(), &v))
		}
		var s patient
		three := wherry.Consume(wherry.Queue(r.broker, third), s.call, b.Option(), wherry.DrainTime(0))
		r.in(time.Second, func() {
			assert.Equal(t, three.Health().State, wherry.StatePaused)
			assert.Equal(t, s.calls.Load(), 0)
		})
		r.runHard(20*time.Second, three)
		assert.Equal(t, s.calls.Load(), 3)
		assert.NoError(t, pub.Close(t.Context()))
		assert.NoError(t, pub3.Close(t.Context()))
	})
}

func TestBreakerState(t *testing.T) {
	t.Parallel()
	for s, want := range map[middleware.BreakerState]string{
		middleware.BreakerClosed: "closed", middleware.BreakerOpen: "open", middleware.BreakerHalfOpen: "half-open",
		9: "BreakerState(9)",
	} {
		assert.Equal(t, s.String(), want)
	}
}

func TestBreakerMistakes(t *testing.T) {
	t.Parallel()
	assert.NoError(t, startError(t, middleware.NewBreaker(middleware.BreakerConfig{}).Option()))
	assert.NoError(t, startError(t, middleware.NewBreaker(middleware.BreakerConfig{Ratio: middleware.Never}).Option()))
	const unmade = "breaker: it was not made by NewBreaker"
	var none *middleware.Breaker
	wantStartError(t, none.Option(), unmade)
	wantStartError(t, new(middleware.Breaker).Option(), unmade)
	wantStartError(t, middleware.NewBreaker(middleware.BreakerConfig{
		Name: "billing", InARow: -2, Ratio: 1.5, Window: -1, MinCalls: -1, OpenFor: -1, Trials: -1,
	}).Option(), "breaker billing: InARow is -2, want at least 0\nRatio is 1.5, want more than 0 and up to 1, or Never\n"+
		"Window is -1ns, want more than 0\nMinCalls is -1, want at least 0\nOpenFor is -1ns, want more than 0\n"+
		"Trials is -1, want at least 0")
	wantStartError(t, middleware.NewBreaker(middleware.BreakerConfig{InARow: -1, Ratio: -1}).Option(),
		"breaker: InARow and Ratio are both Never, so that nothing opens it")
}
