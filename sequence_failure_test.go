package wherry_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// quickly retries once after a second.
var quickly = wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2, First: time.Second, Jitter: wherry.NoJitter})

// failing is a stage on which the message 1 of the key "bad" fails as long as broken says so.
func failing(t *testing.T, broken func() bool) *stage {
	t.Helper()
	s := newStage(t)
	s.result = func(v step, _ int) wherry.Outcome {
		if v.Key == "bad" && v.N == 1 && broken() {
			return wherry.Retry(errStep)
		}
		return wherry.Ack()
	}
	return s
}

func always() bool { return true }

// deadOf lists the dead letters of the steps, with their reasons.
func deadOf(dead []*wherry.Message[wherry.DeadLetter[step]]) string {
	var all calls
	for _, m := range dead {
		all.add("%s%d %s", m.Value.Value.Key, m.Value.Value.N, m.Value.Reason)
	}
	return strings.Join(all.all(), ", ")
}

func TestSequenceSkips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := failing(t, always)
		b := newMem(t)
		publish(t, b, steps, stepsOf(4, "bad", "good")...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, quickly))
		synctest.Wait()
		assert.Equal(t, s.of(s.done, "good"), "0 1 2 3")
		run.mustEnd()
		assert.Equal(t, s.of(s.calls, "bad"), "0 1 1 2 3")
		assert.Equal(t, deadOf(collectDead(t, b, wherry.DeadLetters(steps))), "bad1 exhausted")
	})
}

func TestSequenceBlocks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mended := time.Now().Add(10 * time.Second)
		s := failing(t, func() bool { return time.Now().Before(mended) })
		b := newMem(t)
		publish(t, b, steps, stepsOf(3, "bad", "good")...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.Block)), s.handle, quickly))
		synctest.Wait()
		assert.Equal(t, s.of(s.done, "good"), "0 1 2")
		run.mustEnd()
		assert.Equal(t, s.of(s.done, "bad"), "0 1 2")
		assert.Equal(t, len(s.calls["bad"]), 3+10)
		assert.Equal(t, len(collectDead(t, b, wherry.DeadLetters(steps))), 0)
	})
}

// What trying again cannot mend does not block.
func TestSequenceBlocksNotForRejected(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.result = func(v step, _ int) wherry.Outcome {
			if v.N == 1 {
				return wherry.Reject(errStep)
			}
			return wherry.Ack()
		}
		b := newMem(t)
		publish(t, b, steps, stepsOf(3, "bad")...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.Block)), s.handle, quickly))
		synctest.Wait()
		run.mustEnd()
		assert.Equal(t, s.of(s.calls, "bad"), "0 1 2")
		assert.Equal(t, deadOf(collectDead(t, b, wherry.DeadLetters(steps))), "bad1 rejected")
	})
}

// The key is dead after its first failure, for every worker of the consumer, and others are not.
func TestSequenceFailsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := failing(t, always)
		b := newMem(t)
		publish(t, b, steps, stepsOf(4, "bad", "good")...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.FailAll)), s.handle, quickly, wherry.Workers(3)))
		time.Sleep(time.Minute)
		for n := 4; n < 8; n++ {
			publish(t, b, steps, step{"bad", n}, step{"good", n})
			synctest.Wait()
		}
		run.mustEnd()
		assert.Equal(t, s.of(s.calls, "bad"), "0 1 1")
		s.inOrder(8, "good")
		assert.Equal(t, deadOf(collectDead(t, b, wherry.DeadLetters(steps))), "bad1 exhausted, "+
			"bad2 follows a failed one, bad3 follows a failed one, bad4 follows a failed one, "+
			"bad5 follows a failed one, bad6 follows a failed one, bad7 follows a failed one")
	})
}

// A parked key waits in the dead letters, in order, until a redrive brings all of it back. What comes meanwhile is parked behind it.
func TestSequenceParks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := true
		s := failing(t, func() bool { return broken })
		b := newMem(t)
		publish(t, b, steps, stepsOf(4, "bad", "good")...)
		c := wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.Park)), s.handle, quickly, wherry.Workers(2))
		run := start(t, c)
		time.Sleep(time.Minute)
		assert.Equal(t, c.Health().Aside, 1)
		publish(t, b, steps, step{"bad", 4}, step{"good", 4})
		synctest.Wait()
		assert.Equal(t, s.of(s.calls, "bad"), "0 1 1")
		s.inOrder(5, "good")

		done, err := wherry.Redrive(t.Context(), b, steps, wherry.RedriveLimit(1)) // it fails again, and is behind the others now
		assert.NoError(t, err)
		assert.Equal(t, done.Moved, 1)
		time.Sleep(time.Minute)
		assert.Equal(t, s.of(s.calls, "bad"), "0 1 1 1 1")

		broken = false
		publish(t, b, steps, step{"bad", 5})
		time.Sleep(time.Minute)
		assert.Equal(t, depthOf(t, b, "steps.dlq"), 5)
		done, err = wherry.Redrive(t.Context(), b, steps)
		assert.NoError(t, err)
		assert.Equal(t, done.Moved, 5)
		synctest.Wait()
		assert.Equal(t, c.Health().Aside, 0)
		publish(t, b, steps, step{"bad", 6})
		synctest.Wait()
		run.mustEnd()
		assert.Equal(t, s.of(s.done, "bad"), "0 2 3 4 1 5 6")
		assert.Equal(t, depthOf(t, b, "steps.dlq"), 0)
	})
}

// Parked messages that are redriven at once, without another failure, are handled in the order in which they were published.
func TestSequenceParkedComeBackInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := true
		s := failing(t, func() bool { return broken })
		b := newMem(t)
		publish(t, b, steps, stepsOf(200, "bad")...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.Park)), s.handle, quickly))
		time.Sleep(time.Minute)
		assert.Equal(t, depthOf(t, b, "steps.dlq"), 199)
		broken = false
		p, err := wherry.NewPublisher(t.Context(), b, steps)
		assert.NoError(t, err)
		go func() {
			for n := 200; n < 202; n++ {
				assert.NoError(t, p.Publish(context.Background(), &step{"bad", n}))
			}
			assert.NoError(t, p.Close(context.Background()))
		}()
		done, err := wherry.Redrive(t.Context(), b, steps)
		assert.NoError(t, err)
		synctest.Wait()
		again, err := wherry.Redrive(t.Context(), b, steps)
		assert.NoError(t, err)
		assert.Equal(t, done.Moved+again.Moved >= 199, true)
		synctest.Wait()
		run.mustEnd()
		for i, n := range s.done["bad"] {
			if n != i {
				t.Fatalf("the %d. is %d", i, n)
			}
		}
		assert.Equal(t, len(s.done["bad"]), 202)
	})
}

// A broker that refuses dead letters for a while delays the key, and changes nothing in its order.
func TestSequenceWaitsForItsDeadLetters(t *testing.T) {
	t.Parallel()
	for _, policy := range []wherry.FailurePolicy{wherry.Skip, wherry.FailAll, wherry.Park} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := failing(t, always)
				b := newMem(t)
				publish(t, b, steps, stepsOf(4, "bad", "good")...)
				b.Faults().FailSend("steps.dlq", 5, nil)
				c := wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(policy)), s.handle, quickly)
				run := start(t, c)
				time.Sleep(2 * time.Second)
				s.inOrder(4, "good")
				assert.Equal(t, s.of(s.calls, "bad"), "0 1 1")
				assert.True(t, strings.Contains(c.Health().Cause, "cannot publish to steps.dlq: 1 kept"), c.Health().Cause)
				time.Sleep(time.Hour)
				run.mustEnd()
				dead := deadOf(collectDead(t, b, wherry.DeadLetters(steps)))
				if policy == wherry.Skip {
					assert.Equal(t, s.of(s.calls, "bad"), "0 1 1 2 3")
					assert.Equal(t, dead, "bad1 exhausted")
				} else {
					assert.Equal(t, s.of(s.calls, "bad"), "0 1 1")
					assert.True(t, strings.HasPrefix(dead, "bad1 exhausted, bad2"), dead)
				}
			})
		})
	}
}

// When as many wait for a key as may, nothing more is received, health names the key, and it goes on afterwards.
func TestSequenceWaitingCaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		option wherry.SequenceOption
		cause  string
	}{
		"of a key": {wherry.WaitingAtMost(5, 1000, 1<<20), `5 messages of the key "bad" wait for it`},
		"of all":   {wherry.WaitingAtMost(1000, 10, 1<<20), "messages of "},
		"bytes":    {wherry.WaitingAtMost(1000, 1000, 100), "bytes wait for their keys"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				mended := time.Now().Add(time.Minute)
				s := failing(t, func() bool { return time.Now().Before(mended) })
				b := newMem(t)
				consumer := wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.Block), c.option), s.handle, quickly)
				run := start(t, consumer)
				for n := range 50 {
					publish(t, b, steps, step{"bad", n})
					synctest.Wait()
				}
				publish(t, b, steps, stepsOf(3, "good")...)
				synctest.Wait()
				assert.Equal(t, s.of(s.calls, "bad"), "0 1")
				assert.Equal(t, s.of(s.calls, "good"), "")
				cause := consumer.Health().Cause
				assert.True(t, strings.Contains(cause, c.cause), cause)
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Equal(t, consumer.Health().Cause, "")
				run.mustEnd()
				s.inOrder(50, "bad")
				s.inOrder(3, "good")
			})
		})
	}
}

// Under policies that set a key aside in the end, one that is being retried makes nobody wait when it has as many as may wait.
func TestSequenceRelief(t *testing.T) {
	t.Parallel()
	for _, policy := range []wherry.FailurePolicy{wherry.FailAll, wherry.Park} {
		t.Run(policy.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := failing(t, always)
				b := newMem(t)
				source := wherry.Sequence(b, steps, wherry.OnFailure(policy), wherry.WaitingAtMost(5, 1000, 1<<20))
				run := start(t, wherry.Consume(source, s.handle,
					wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 9, First: time.Hour, Jitter: wherry.NoJitter})))
				for n := range 50 {
					publish(t, b, steps, step{"bad", n})
					synctest.Wait()
				}
				publish(t, b, steps, stepsOf(3, "good")...)
				synctest.Wait()
				s.inOrder(3, "good")
				assert.Equal(t, s.of(s.calls, "bad"), "0 1")
				run.mustEnd()
				dead := collectDead(t, b, wherry.DeadLetters(steps))
				assert.Equal(t, len(dead), 49)
				assert.Equal(t, dead[0].Value.Attempts, 1)
				assert.Equal(t, dead[0].Value.Reason, wherry.ReasonExhausted)
				for i, m := range dead {
					assert.Equal(t, m.Value.Value.N, i+1)
				}
			})
		})
	}
}

// A redriven message that is delivered twice, since its tenure was lost, counts once: its key stays parked for the rest.
func TestParkedKeyOutlivesALostTenure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := true
		s := failing(t, func() bool { return broken })
		s.takes = func(step, int) time.Duration {
			if broken {
				return 0
			}
			return time.Minute
		}
		b := newMem(t)
		publish(t, b, steps, stepsOf(2, "bad")...)
		run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.Park)), s.handle, quickly,
			wherry.NoHandlerTimeout()))
		time.Sleep(time.Hour)
		assert.Equal(t, depthOf(t, b, "steps.dlq"), 1)
		broken = false
		publish(t, b, steps, step{"bad", 2}) // parked, since 1 failed
		synctest.Wait()
		assert.Equal(t, depthOf(t, b, "steps.dlq"), 2)
		done, err := wherry.Redrive(t.Context(), b, steps, wherry.RedriveLimit(1))
		assert.NoError(t, err)
		assert.Equal(t, done.Moved, 1)
		synctest.Wait() // 1 is in hand
		b.Faults().Revoke("steps", 0)
		synctest.Wait() // and again
		publish(t, b, steps, step{"bad", 3})
		time.Sleep(time.Hour)
		assert.Equal(t, depthOf(t, b, "steps.dlq"), 2) // 3 was parked behind 2
		done, err = wherry.Redrive(t.Context(), b, steps)
		assert.NoError(t, err)
		assert.Equal(t, done.Moved, 2)
		time.Sleep(time.Hour)
		run.mustEnd()
		assert.Equal(t, s.of(s.calls, "bad"), "0 1 1 1 1 2 3")
	})
}
