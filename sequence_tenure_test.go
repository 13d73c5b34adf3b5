package wherry_test

import (
	"context"
	"errors"
	"math/rand/v2"
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

// keepers hides that a broker forgets at exit, so that a stopping consumer leaves messages to the next.
type keepers struct{ *mem.Broker }

func (b keepers) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.Broker.OpenSequence(ctx, s)
	if err != nil {
		return nil, err
	}
	return keeper{r.(keptReceiver)}, nil
}

type keptReceiver interface {
	driver.Receiver
	driver.Revoker
}

type keeper struct{ keptReceiver }

func (k keeper) Info() driver.Info {
	i := k.keptReceiver.Info()
	i.Volatile = false
	return i
}

// A consumer that is stopped and run again goes on where it was, in order: what it had not handled goes back as a whole.
func TestSequenceRestarts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 3))
			var mu sync.Mutex
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n)
			}
			s := newStage(t)
			s.takes = func(step, int) time.Duration { return time.Duration(roll(20)) * time.Millisecond }
			s.result = func(step, int) wherry.Outcome {
				if roll(10) == 0 {
					return wherry.RetryAfter(time.Duration(roll(100))*time.Millisecond, errStep)
				}
				return wherry.Ack()
			}
			keys := manyKeys(10)
			const each = 40
			b := keepers{newMem(t)}
			publish(t, b, steps, stepsOf(each, keys...)...)
			c := wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(1+roll(4)), wherry.Workers(1+roll(2)),
				wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1000}))
			for limit := time.Now().Add(time.Hour); depthOf(t, b.Broker, "steps") > 0; {
				if time.Now().After(limit) {
					t.Fatalf("%d are left after an hour", depthOf(t, b.Broker, "steps"))
				}
				run := start(t, c)
				time.Sleep(time.Duration(1+roll(200)) * time.Millisecond)
				run.mustEnd()
			}
			s.inOrder(each, keys...)
		})
	}
}

// Two consumers in processes of their own hand keys over when one of them stops.
func TestSequenceHandOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.takes = func(step, int) time.Duration { return 5 * time.Millisecond }
		keys := manyKeys(8)
		const each = 100
		b := keepers{newMem(t)}
		publish(t, b, steps, stepsOf(each, keys...)...)
		var runs []*run
		for range 2 {
			runs = append(runs, start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(2), wherry.Prefetch(40))))
		}
		for i := 0; depthOf(t, b.Broker, "steps") > 0; i++ {
			time.Sleep(50 * time.Millisecond)
			runs[i%2].mustEnd()
			runs[i%2] = start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(2), wherry.Prefetch(40)))
		}
		for _, r := range runs {
			r.mustEnd()
		}
		s.inOrder(each, keys...)
	})
}

// When the broker takes keys back, what is in hand goes on until the tenure ends, nothing of the key follows it, and whoever gets
// the key begins with what was not settled.
func TestSequenceRevoked(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			var mu sync.Mutex
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n)
			}
			s := newStage(t)
			s.takes = func(step, int) time.Duration { return time.Duration(roll(10)) * time.Millisecond }
			s.result = func(step, int) wherry.Outcome {
				switch roll(12) {
				case 0:
					return wherry.RetryAfter(time.Duration(roll(100))*time.Millisecond, errStep)
				case 1:
					return wherry.Defer(0)
				}
				return wherry.Ack()
			}
			keys := manyKeys(10)
			const each = 40
			b := newMem(t)
			publish(t, b, steps, stepsOf(each, keys...)...)
			run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(3), wherry.Workers(2),
				wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1000}), wherry.DrainTime(time.Hour)))
			for depthOf(t, b, "steps") > 0 {
				time.Sleep(time.Duration(1+roll(60)) * time.Millisecond)
				b.Faults().Revoke("steps", time.Second)
			}
			run.mustEnd()
			s.inOrder(each, keys...)
		})
	}
}

// A tenure that is lost at once may have a message in hand that another handles too. Even then each key is handled in order: from
// what was settled on.
func TestSequenceLost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			var mu sync.Mutex
			last := map[string]int{}
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n)
			}
			handle := func(ctx context.Context, m *wherry.Message[step]) wherry.Outcome {
				v := m.Value
				timer := time.NewTimer(time.Duration(roll(10)) * time.Millisecond)
				defer timer.Stop()
				select {
				case <-timer.C:
				case <-ctx.Done():
					if !errors.Is(context.Cause(ctx), wherry.ErrRevoked) {
						t.Errorf("the context of %v ended: %v", v, context.Cause(ctx))
					}
					return wherry.Retry(errStep)
				}
				if roll(10) == 0 {
					return wherry.RetryAfter(time.Duration(roll(100))*time.Millisecond, errStep)
				}
				mu.Lock()
				defer mu.Unlock()
				if n, there := last[v.Key]; there && v.N > n+1 || !there && v.N > 0 {
					t.Errorf("seed %d: %v is done after %d", seed, v, n)
				}
				last[v.Key] = max(last[v.Key], v.N)
				return wherry.Ack()
			}
			keys := manyKeys(10)
			const each = 30
			b := newMem(t)
			publish(t, b, steps, stepsOf(each, keys...)...)
			run := start(t, wherry.Consume(wherry.Sequence(b, steps), handle, wherry.Concurrency(3), wherry.Workers(2),
				wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1000}), wherry.DrainTime(time.Hour)))
			for depthOf(t, b, "steps") > 0 {
				time.Sleep(time.Duration(1+roll(100)) * time.Millisecond)
				b.Faults().Revoke("steps", 0)
			}
			run.mustEnd()
			for _, key := range keys {
				assert.Equal(t, last[key], each-1)
			}
		})
	}
}

// Messages that wait for their key, or for its retry, keep their lease.
func TestSequenceKeepsLeases(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.takes = func(step, int) time.Duration { return time.Second }
		s.result = func(v step, attempt int) wherry.Outcome {
			if v.N == 1 && attempt < 3 {
				return wherry.RetryAfter(10*time.Second, errStep)
			}
			return wherry.Ack()
		}
		b := mem.New(mem.Config{Poison: true, Lease: 3 * time.Second})
		defer b.Close(t.Context())
		publish(t, b, steps, stepsOf(10, "a", "b")...)
		var seen events
		run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(2), wherry.OnEvent(seen.record),
			wherry.DrainTime(time.Hour)))
		synctest.Wait()
		run.mustEnd()
		s.inOrder(10, "a", "b")
		assert.Equal(t, len(eventsOf[*wherry.SettleFailed](&seen)), 0)
	})
}

// What a pause keeps waiting stays in order, and a paused sequence handles nothing.
func TestSequencePauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.takes = func(step, int) time.Duration { return 10 * time.Millisecond }
		b := newMem(t)
		publish(t, b, steps, stepsOf(10, "a", "b")...)
		c := wherry.Consume(wherry.Sequence(b, steps), s.handle)
		run := start(t, c)
		time.Sleep(55 * time.Millisecond)
		resume := c.Pause("tea")
		synctest.Wait()
		time.Sleep(time.Second)
		before := s.of(s.calls, "a") + "/" + s.of(s.calls, "b")
		time.Sleep(time.Minute)
		assert.Equal(t, s.of(s.calls, "a")+"/"+s.of(s.calls, "b"), before)
		assert.True(t, strings.Count(before, " ") < 8, before)
		resume()
		synctest.Wait()
		run.mustEnd()
		s.inOrder(10, "a", "b")
	})
}

// Sources and options that do not fit are refused at start.
func TestSequenceRefuses(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	fine := func(context.Context, *wherry.Message[step]) wherry.Outcome { return wherry.Ack() }
	spread := wherry.NewKeyedTopic("spread", jsonSteps, stepKey, wherry.Fanout("g"))
	for name, c := range map[string]struct {
		runner wherry.Runner
		want   string
	}{
		"fan-out":     {wherry.Consume(wherry.Sequence(b, spread), fine), "the topic is a fan-out: consume it with GroupSequence"},
		"queue":       {wherry.Consume(wherry.GroupSequence(b, "g", steps), fine), "the topic is a queue: consume it with Sequence"},
		"zero topic":  {wherry.Consume(wherry.Sequence(b, wherry.KeyedTopic[step]{}), fine), "the topic is the zero value"},
		"no broker":   {wherry.Consume(wherry.Sequence(nil, steps), fine), "the broker is nil"},
		"policy":      {wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(9)), fine), "the failure policy is FailurePolicy(9)"},
		"caps":        {wherry.Consume(wherry.Sequence(b, steps, wherry.WaitingAtMost(0, 1, -1)), fine), "at most 0 messages of a key may wait"},
		"shards":      {wherry.Consume(wherry.Sequence(b, steps, wherry.Shards(0)), fine), "shards is 0, want at least 1"},
		"nil option":  {wherry.Consume(wherry.Sequence(b, steps, nil), fine), "a sequence option is nil"},
		"group":       {wherry.Consume(wherry.GroupSequence(b, "", spread), fine), "group: it is empty"},
		"dead":        {wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.Park)), fine, wherry.NoDeadLetters()), "on failure park: that needs dead letters"},
		"broadcast":   {wherry.Consume(wherry.Broadcast(b, steps), fine), "the topic is a queue: declare it with Fanout"},
		"dead letter": {wherry.Consume(wherry.Broadcast(b, spread), fine, wherry.DeadLetterTo("x")), "a broadcast has no dead letters"},
		"two places":  {wherry.Consume(wherry.Broadcast(b, spread, wherry.FromHead(), wherry.FromTime(time.Now())), fine), "both FromHead and FromTime"},
		"no time":     {wherry.Consume(wherry.Broadcast(b, spread, wherry.FromTime(time.Time{})), fine), "the time to begin at is zero"},
		"no history":  {wherry.Consume(wherry.Broadcast(b, spread, wherry.FromHead()), fine), "unsupported"},
		"batches": {wherry.ConsumeBatch(wherry.Sequence(b, steps), func(context.Context, *wherry.MessageBatch[step]) wherry.Outcome {
			return wherry.Ack()
		}), "batches do not fit a sequence"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
			defer stop()
			err := wherry.Run(ctx, c.runner)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
