package wherry_test

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
)

// Where lanes take several keys at once, order holds whatever becomes of a message: a retry, a panic, a defer, a slow one, and
// keys that the broker takes back.
func TestSequenceBunches(t *testing.T) {
	t.Parallel()
	seeds := uint64(20)
	if wherry.RaceEnabled { // which takes a second for each
		seeds = 6
	}
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 9))
			var mu sync.Mutex
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n)
			}
			s := newStage(t)
			s.takes = func(v step, _ int) time.Duration {
				if v.Key[0] == 'k' && roll(40) == 0 {
					return time.Duration(roll(5)) * time.Millisecond
				}
				return 0
			}
			s.result = func(v step, _ int) wherry.Outcome {
				if v.Key[0] != 'k' {
					return wherry.Ack()
				}
				switch roll(60) {
				case 0:
					return wherry.RetryAfter(time.Duration(roll(20))*time.Millisecond, errStep)
				case 1:
					return wherry.Defer(0)
				}
				return wherry.Ack()
			}
			var quick []step // which proves that handlers are quick
			for i := range quickMessages {
				quick = append(quick, step{"q" + strconv.Itoa(i%100), i / 100})
			}
			b := newMem(t)
			run := start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(1+roll(8)),
				wherry.Workers(1+roll(2)), wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1000}), wherry.DrainTime(time.Hour)))
			publish(t, b, steps, quick...)
			keys := manyKeys(60)
			const each = 40
			publish(t, b, steps, stepsOf(each, keys...)...)
			for limit := time.Now().Add(time.Minute); depthOf(t, b, "steps") > 0; {
				if time.Now().After(limit) {
					t.Fatalf("%d are left after a minute", depthOf(t, b, "steps"))
				}
				time.Sleep(time.Duration(1+roll(20)) * time.Millisecond)
				if roll(2) == 0 {
					b.Faults().Revoke("steps", time.Second)
				}
			}
			run.mustEnd()
			s.inOrder(each, keys...)
		})
	}
}

// A message of a sequence allocates nothing, from its publisher to its settlement.
func TestSequencePathAllocatesNothing(t *testing.T) { //nolint:paralleltest // Allocations are counted for the whole process.
	topic := wherry.NewKeyedTopic("bytes", codec.BytesView{}, func(dst []byte, v *[]byte) []byte { return append(dst, (*v)[:4]...) })
	b := newPlainMem(t)
	p, err := wherry.NewPublisher(t.Context(), b, topic)
	assert.NoError(t, err)
	handled := make(chan struct{}, 1)
	r := start(t, wherry.Consume(wherry.Sequence(b, topic), func(context.Context, *wherry.Message[[]byte]) wherry.Outcome {
		handled <- struct{}{}
		return wherry.Ack()
	}, wherry.Concurrency(4)))
	body, key := make([]byte, 64), 0
	n := allocations(2000, func() {
		key = (key + 1) % 50
		body[0] = byte(key)
		if err := p.Publish(t.Context(), &body); err != nil {
			t.Error(err)
		}
		<-handled
	})
	if !wherry.RaceEnabled {
		assert.Equal(t, n, 0)
	}
	assert.NoError(t, p.Close(t.Context()))
	r.mustEnd()
}

// Where one message has no key, it does not have that of the one before.
func TestKeyIsOfItsMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, steps, step{"a", 0}, step{"", 0}, step{"b", 0}, step{"", 1})
		s := newStage(t) // which looks at the key of each
		r := start(t, wherry.Consume(wherry.Queue(b, steps), s.handle))
		synctest.Wait()
		r.mustEnd()
		assert.Equal(t, s.of(s.done, ""), "0 1")
	})
}
