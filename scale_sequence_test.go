package wherry_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// Keys of a sequence leave a removed worker together, when the last of its handlers has returned: until then its tenure lasts, and
// no other worker could have them in order. That they went back is told then, and not before. Keys of others go on meanwhile.
func TestRemovedWorkerGivesItsKeysBackTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		var d dial
		var ev events
		s := newStage(t)
		gate := make(chan struct{})
		s.takes = func(v step, _ int) time.Duration {
			switch v.Key[0] {
			case 'g':
				<-gate
			case 's':
				return time.Minute
			}
			return 0
		}
		s.result = func(v step, attempt int) wherry.Outcome {
			if v.Key[0] == 'k' && attempt == 1 {
				return wherry.RetryAfter(10*time.Second, errStep)
			}
			return wherry.Ack()
		}
		c := wherry.Consume(wherry.Sequence(b, steps), s.handle, d.between(1, 2), wherry.Concurrency(2), wherry.Prefetch(5),
			wherry.NoHandlerTimeout(), wherry.OnEvent(ev.record))
		r := start(t, c)
		d.turn(t, c, 2)
		began := time.Now()
		for i := range 4 { // all lanes are busy, so that each worker takes its share of what comes then
			publish(t, b, steps, step{Key: fmt.Sprint("gate-", i)})
			synctest.Wait()
		}
		keys := manyKeys(8)
		publish(t, b, steps, step{Key: "slow-0"})
		publish(t, b, steps, stepsOf(1, keys[:4]...)...)
		publish(t, b, steps, step{Key: "slow-1"})
		publish(t, b, steps, stepsOf(1, keys[4:]...)...)
		close(gate)
		time.Sleep(time.Second)
		d.turn(t, c, 1)

		time.Sleep(50*time.Second - time.Since(began))
		waiting := 0
		for _, key := range keys {
			if s.of(s.done, key) == "" {
				waiting++
			}
		}
		assert.Equal(t, waiting, 4)
		assert.Equal(t, c.Health().InFlight, 6)
		assert.Equal(t, len(eventsOf[*wherry.Released](&ev)), 0)

		time.Sleep(75*time.Second - time.Since(began))
		released := eventsOf[*wherry.Released](&ev)
		assert.Equal(t, len(released), 1)
		assert.Equal(t, released[0].Count, 4)
		assert.Equal(t, released[0].Why, "its worker is removed")
		s.inOrder(1, keys...)
		assert.Equal(t, c.Health().InFlight, 0)
		r.mustEnd()
		assert.Equal(t, len(eventsOf[*wherry.Released](&ev)), 1)
	})
}

// A stop tells of what a sequence gives back when it is given back: after its last handler. Of a receiver that ended it is back at
// once, and that is told at once.
func TestSequenceTellsWhenItGivesBack(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]bool{"stopped": false, "ended": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { sequenceTellsWhenItGivesBack(t, ends) })
		})
	}
}

func sequenceTellsWhenItGivesBack(t *testing.T, ends bool) {
	t.Helper()
	b := newTold(t)
	source := wherry.Sequence(b, steps)
	if !ends {
		source = wherry.Sequence(keepers{b.Broker}, steps)
	}
	var ev events
	c := wherry.Consume(source, func(context.Context, *wherry.Message[step]) wherry.Outcome {
		time.Sleep(20 * time.Second)
		return wherry.Ack()
	}, wherry.OnEvent(ev.record), wherry.Concurrency(2)) // one lane receives
	publish(t, b, steps, stepsOf(6, "a")...)
	r := start(t, c)
	time.Sleep(time.Second)
	at, why := 0, "its receiver ended"
	if ends {
		b.kill(t, 0)
		at = 5
	} else {
		why = "stopping"
		r.stop()
	}
	time.Sleep(10 * time.Second)
	assert.Equal(t, countOf(eventsOf[*wherry.Released](&ev), why), at)
	time.Sleep(20 * time.Second)
	assert.Equal(t, countOf(eventsOf[*wherry.Released](&ev), why), 5)
	r.mustEnd()
	assert.Equal(t, countOf(eventsOf[*wherry.Released](&ev), why), 5)
}

// countOf is how many messages went back for a reason.
func countOf(released []*wherry.Released, why string) int {
	n := 0
	for _, e := range released {
		if e.Why == why {
			n += e.Count
		}
	}
	return n
}
