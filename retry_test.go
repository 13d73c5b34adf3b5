package wherry

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/internal/assert"
)

func TestDefaultLadder(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{}.withDefaults()
	assert.Equal(t, p.MaxAttempts, 5)
	var delays []time.Duration
	for failures := 1; failures <= 7; failures++ {
		delays = append(delays, p.delay(failures))
		assert.Equal(t, p.delay(failures), delays[failures-1]) // asking again changes nothing
	}
	assert.Equal(t, delays, []time.Duration{
		200 * time.Millisecond, 800 * time.Millisecond, 3200 * time.Millisecond, 12800 * time.Millisecond,
		30 * time.Second, 30 * time.Second, 30 * time.Second,
	})
}

func TestDelaysOfALongerLadder(t *testing.T) {
	t.Parallel()
	p := RetryPolicy{Delays: []time.Duration{3, 1, 2}}.withDefaults()
	assert.Equal(t, []time.Duration{p.delay(0), p.delay(1), p.delay(2), p.delay(3), p.delay(99)}, []time.Duration{3, 3, 1, 2, 2})
}

func TestPolicyOfAnError(t *testing.T) {
	t.Parallel()
	busy := errors.New("busy")
	p := RetryPolicy{ForError: func(err error) *RetryPolicy {
		if errors.Is(err, busy) {
			return &RetryPolicy{MaxAttempts: 9, First: time.Minute}
		}
		return nil
	}}.withDefaults()
	assert.Equal(t, p.forError(nil).MaxAttempts, 5)
	assert.Equal(t, p.forError(busy).MaxAttempts, 9)
	assert.Equal(t, p.forError(busy).delay(1), time.Minute)
}

func TestBadPolicies(t *testing.T) {
	t.Parallel()
	err := RetryPolicy{
		MaxAttempts: -1, Delays: []time.Duration{1, -2}, First: -1, Factor: 0.5, Max: -1, Jitter: math.NaN(),
	}.validate()
	for _, part := range []string{"MaxAttempts is -1", "Delays[1] is -2ns", "First is -1ns", "Factor is 0.5", "Max is -1ns", "Jitter is NaN"} {
		assert.True(t, strings.Contains(err.Error(), part), part+" is named in "+err.Error())
	}
	assert.NoError(t, RetryPolicy{Jitter: NoJitter}.validate())
	assert.True(t, RetryPolicy{First: time.Minute, Max: time.Second}.validate() != nil, "Max under First is refused")
}

// FuzzRetryDelay: a delay is never negative, never over the longest, never shrinks with failures, and jitter only adds.
func FuzzRetryDelay(f *testing.F) {
	f.Add(int64(200e6), 4.0, int64(30e9), 0.2, 3)
	f.Add(int64(1), 1.0, int64(math.MaxInt64), 1.0, 1000)
	f.Add(int64(math.MaxInt64), 1e300, int64(math.MaxInt64), 1.0, 7)
	f.Fuzz(func(t *testing.T, first int64, factor float64, most int64, jitter float64, failures int) {
		p := RetryPolicy{First: time.Duration(first), Factor: factor, Max: time.Duration(most), Jitter: jitter}
		if p.validate() != nil {
			return // not a policy
		}
		p = p.withDefaults()
		failures = min(failures, 10_000)
		d := p.delay(failures)
		if d < 0 || d > p.Max {
			t.Fatalf("%+v: delay(%d) = %v", p, failures, d)
		}
		if next := p.delay(failures + 1); failures > 0 && next < d {
			t.Fatalf("%+v: delay(%d) = %v after %v", p, failures+1, next, d)
		}
		j := p.jittered(d)
		if j < d {
			t.Fatalf("%+v: jittered(%v) = %v", p, d, j)
		}
		if most := float64(d) * (1 + p.Jitter) * 1.0001; float64(j) > most+1 {
			t.Fatalf("%+v: jittered(%v) = %v", p, d, j)
		}
	})
}
