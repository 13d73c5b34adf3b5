package wherry_test

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// Every key is handled in order and one at a time, by whichever worker, with failures and slow handlers in between, and keys are
// handled beside each other.
func TestSequenceKeepsOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			var mu sync.Mutex
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n)
			}
			s := newStage(t)
			s.takes = func(step, int) time.Duration { return time.Duration(roll(5)) * time.Millisecond }
			s.result = func(_ step, attempt int) wherry.Outcome {
				switch {
				case attempt < 3 && roll(6) == 0:
					return wherry.Retry(errStep)
				case roll(20) == 0:
					return wherry.Defer(time.Duration(roll(300)) * time.Millisecond)
				}
				return wherry.Ack()
			}
			keys := manyKeys(1 + roll(20))
			const each = 30
			b := newMem(t)
			publish(t, b, steps, stepsOf(each, keys...)...)
			run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle,
				wherry.Workers(1+roll(3)), wherry.Concurrency(1+roll(8)), wherry.Prefetch(1+roll(300)), wherry.DrainTime(time.Hour)))
			synctest.Wait()
			run.mustEnd()
			s.inOrder(each, keys...)
			assert.Equal(t, depthOf(t, b, "steps"), 0)
		})
	}
}

// A key whose message failed waits, alone: it holds no lane, and its retry comes when it is due, although the only lane waits for
// other messages.
func TestSequenceFailingKeyHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.result = func(v step, attempt int) wherry.Outcome {
			if v.Key == "bad" && v.N == 0 && attempt < 3 {
				return wherry.RetryAfter(time.Duration(attempt)*time.Second, errStep)
			}
			return wherry.Ack()
		}
		b := newMem(t)
		begun := time.Now()
		publish(t, b, steps, stepsOf(3, "bad", "good", "fine")...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle))
		synctest.Wait()
		assert.Equal(t, s.of(s.calls, "bad"), "0")
		assert.Equal(t, s.of(s.done, "good"), "0 1 2")
		assert.Equal(t, s.of(s.done, "fine"), "0 1 2")
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, s.of(s.calls, "bad"), "0 0")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Equal(t, s.of(s.calls, "bad"), "0 0 0 1 2")
		assert.Equal(t, s.first["bad0"].Sub(begun), 3*time.Second)
		synctest.Wait()
		run.mustEnd()
	})
}

// A slow key holds up no other, however many of its messages wait: they take no lane.
func TestSequenceSlowKeyHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.takes = func(v step, _ int) time.Duration {
			if v.Key == "slow" {
				return time.Second
			}
			return 0
		}
		b := newMem(t)
		publish(t, b, steps, stepsOf(20, "slow")...)
		publish(t, b, steps, stepsOf(20, manyKeys(20)...)...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(2)))
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		assert.Equal(t, s.of(s.calls, "slow"), "0")
		s.inOrder(20, manyKeys(20)...)
		synctest.Wait()
		run.mustEnd()
		s.inOrder(20, "slow")
	})
}

// The attempts of a message are told to its handler, and what it went through to whoever reads its dead letter.
func TestSequenceAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var attempts calls
		s := newStage(t)
		s.result = func(v step, attempt int) wherry.Outcome {
			attempts.add("%s%d:%d", v.Key, v.N, attempt)
			if v.N == 1 {
				return wherry.Retry(errStep)
			}
			return wherry.Ack()
		}
		b := newMem(t)
		publish(t, b, steps, stepsOf(3, "a")...)
		begun := time.Now()
		run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle,
			wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{time.Second, 2 * time.Second}, Jitter: wherry.NoJitter})))
		synctest.Wait()
		run.mustEnd()
		assert.Equal(t, strings.Join(attempts.all(), " "), "a0:1 a1:1 a1:2 a1:3 a2:1")
		assert.Equal(t, time.Since(begun).Round(10*time.Millisecond), 3*time.Second)
		dead := collectDead(t, b, wherry.DeadLetters(steps))
		assert.Equal(t, len(dead), 1)
		v := dead[0].Value
		assert.Equal(t, v.Value, step{"a", 1})
		assert.Equal(t, v.Reason, wherry.ReasonExhausted)
		assert.Equal(t, v.Attempts, 3)
		assert.Equal(t, v.LastAt.Sub(v.FirstAt), 3*time.Second)
		assert.Equal(t, string(dead[0].Key()), "a")
	})
}

// Messages whose key is empty are in order with no other, and wait for none.
func TestSequenceWithoutKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.takes = func(step, int) time.Duration { return time.Second }
		b := newMem(t)
		publish(t, b, steps, stepsOf(4, "")...)
		begun := time.Now()
		run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(4)))
		synctest.Wait()
		run.mustEnd()
		assert.Equal(t, len(s.done[""]), 4)
		assert.Equal(t, time.Since(begun).Round(100*time.Millisecond), time.Second)
	})
}

// A handler that panics, or ends its goroutine, has its message tried again in its place.
func TestSequencePanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.result = func(v step, attempt int) wherry.Outcome {
			if v.N == 1 && attempt == 1 {
				s.mu.Lock()
				s.busy[v.Key]--
				s.mu.Unlock()
				panic("broken")
			}
			return wherry.Ack()
		}
		b := newMem(t)
		publish(t, b, steps, stepsOf(3, "a", "b")...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle))
		synctest.Wait()
		run.mustEnd()
		assert.Equal(t, s.of(s.calls, "a"), "0 1 1 2")
		assert.Equal(t, s.of(s.calls, "b"), "0 1 1 2")
	})
}

// A loop gets a sequence too. What it does not settle comes again, before the later ones of its key.
func TestSequencePulled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, steps, stepsOf(3, "a")...)
		var seen calls
		for m, err := range wherry.Pull(t.Context(), wherry.Sequence(b, steps)) {
			assert.NoError(t, err)
			seen.add("%d", m.Value.N)
			switch len(seen.all()) {
			case 2: // released
			case 3:
				m.Settle(wherry.Retry(errStep))
			default:
				m.Settle(wherry.Ack())
			}
			if m.Value.N == 2 {
				break
			}
		}
		assert.Equal(t, strings.Join(seen.all(), " "), "0 1 1 1 2")
		assert.Equal(t, depthOf(t, b, "steps"), 0)
	})
}
