package wherry

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// stepped is a reading of the system's clocks of which the one on the wall was set by d afterwards. There is no other way to
// have one: everything in package time moves both, and in a synctest bubble there is only one. The first word of a Time holds the
// seconds above 30 bits of nanoseconds.
func stepped(t *testing.T, now time.Time, d time.Duration) time.Time {
	t.Helper()
	out := now
	*(*uint64)(unsafe.Pointer(&out)) += uint64(d/time.Second) << 30
	if out.Sub(now) != 0 || out.Round(0).Sub(now.Round(0)) != d {
		t.Fatalf("%v is not %v with the clock on the wall %v ahead", out, now, d)
	}
	return out
}

// A clock of a consumer goes on as it did when the system's is set, and knows what that says.
func TestSteadyClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		now := time.Now()
		c := clock{exact: true, began: stepped(t, now, -step)} // so that now the system's is ahead by the step
		first := c.of(now)
		assert.Equal(t, first.Time().Sub(now.Round(0)), -step)
		assert.Equal(t, c.time(first).Sub(now), 0)
		assert.Equal(t, time.Duration(c.of(now.Add(time.Minute))-first), time.Minute)
		near := func(what string, got, want time.Duration) {
			t.Helper()
			if got < want-time.Second || got > want+time.Second {
				t.Errorf("with a step of %v %s is %v, want %v", step, what, got, want)
			}
		}
		others := clock{exact: true}
		near("the age of what was published now", c.since(others.now(), c.now()), 0)
		near("the wait for what is due in a minute", time.Duration(c.until(others.now().Add(time.Minute))-c.now()), time.Minute)
	}
}

// When the system's clock is set while a consumer runs, handlers have the time that they were given, what waits for a retry waits
// as long as it was to, and ages are right.
func TestConsumerOutlivesAStepOfTheClock(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{-time.Hour, time.Hour} {
		b := mem.New(mem.Config{})
		t.Cleanup(func() { assert.NoError(t, b.Close(context.WithoutCancel(t.Context()))) })
		topic := NewKeyedTopic("steps", codec.Text{}, func(dst []byte, v *string) []byte { return append(dst, *v...) })
		left := make(chan time.Duration, 2)
		called := 0
		handle := func(ctx context.Context, _ *Message[string]) Outcome {
			called++
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
			if ctx.Err() != nil {
				return Reject(ctx.Err())
			}
			if called == 1 {
				return Retry(errors.New("not yet"))
			}
			return Ack()
		}
		handled := make(chan Handled, 2)
		c := Consume(Sequence(b, topic), handle, RetryWith(RetryPolicy{MaxAttempts: 9, First: 100 * time.Millisecond, Jitter: NoJitter}),
			OnEvent(func(e Event) {
				if e, ok := e.(*Handled); ok {
					handled <- *e
				}
			}))
		run, err := c.Prepare(t.Context())
		assert.NoError(t, err)
		c.running.clock.began = stepped(t, c.running.clock.began, -step)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- run(ctx) }()
		p, err := NewPublisher(t.Context(), b, topic)
		assert.NoError(t, err)
		value := "a"
		began := time.Now()
		assert.NoError(t, p.Publish(t.Context(), &value))
		for range 2 { // the second after its retry, which an hour more or less would make never or at once
			if got := <-left; got < 20*time.Second || got > 30*time.Second {
				t.Errorf("with a step of %v a handler has %v, want 30 seconds", step, got)
			}
			if e := <-handled; e.Age > time.Since(began)+time.Second || e.Took > time.Since(began) {
				t.Errorf("with a step of %v a new message is %v old, and took %v", step, e.Age, e.Took)
			}
		}
		if took := time.Since(began); took < 100*time.Millisecond {
			t.Errorf("with a step of %v the retry came after %v", step, took)
		}
		stop()
		assert.NoError(t, <-done)
		assert.NoError(t, p.Close(context.WithoutCancel(t.Context())))
	}
}
