package wherry_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

var heardSteps = wherry.NewKeyedTopic("heard", jsonSteps, stepKey, wherry.Fanout())

// Where what fails is kept, a message that waits for its own delay is no stall, however long that is, nor is what stands behind
// it. A handler that hangs beside it still is one.
func TestWaitForADelayIsNoStall(t *testing.T) {
	t.Parallel()
	for name, topic := range map[string]wherry.KeyedTopic[step]{"sequence": steps, "broadcast": heardSteps} {
		for what, o := range map[string]wherry.Outcome{
			"defer": wherry.Defer(5 * time.Minute),
			"retry": wherry.RetryAfter(5*time.Minute, errStep),
		} {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { waitForADelay(t, topic, o) })
			})
		}
	}
}

func waitForADelay(t *testing.T, topic wherry.KeyedTopic[step], o wherry.Outcome) {
	t.Helper()
	b := newMem(t)
	unblock := make(chan struct{})
	var waits atomic.Bool
	s := newStage(t)
	s.result = func(v step, _ int) wherry.Outcome {
		switch {
		case v.Key == "hangs":
			<-unblock
		case v.N == 0 && waits.CompareAndSwap(false, true):
			return o
		}
		return wherry.Ack()
	}
	var ev events
	c := wherry.Consume(inOrderOf(b, topic), s.handle, wherry.NoHandlerTimeout(), wherry.OnEvent(ev.record))
	run := start(t, c)
	synctest.Wait()
	publish(t, b, topic, stepsOf(2, "waits")...)
	time.Sleep(4 * time.Minute)
	assert.Equal(t, c.Health().State, wherry.StateRunning)
	assert.Equal(t, len(eventsOf[*wherry.Stalled](&ev)), 0)
	publish(t, b, topic, step{Key: "hangs"})
	assert.Equal(t, stalled(t, c, 33*time.Second).State, wherry.StateStalled)
	close(unblock)
	time.Sleep(2 * time.Minute)
	assert.Equal(t, len(s.of(s.done, "waits")), len("0 1"))
	run.mustEnd()
}

// inOrderOf is a source of the topic in which what fails is kept.
func inOrderOf(b *mem.Broker, topic wherry.KeyedTopic[step]) wherry.Source[step] {
	if topic.Name() == steps.Name() {
		return wherry.Sequence(b, topic)
	}
	return wherry.Broadcast(b, topic)
}

// A batch that is collected for longer than the stall time is no stall. A batch handler that hangs is one.
func TestBatchThatIsCollectedIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		unblock := make(chan struct{})
		var hangs atomic.Bool
		var ev events
		c := wherry.ConsumeBatch(wherry.Queue(b, orders), func(context.Context, *wherry.MessageBatch[order]) wherry.Outcome {
			if hangs.Load() {
				<-unblock
			}
			return wherry.Ack()
		}, wherry.BatchAge(5*time.Minute), wherry.NoHandlerTimeout(), wherry.OnEvent(ev.record))
		run := start(t, c)
		synctest.Wait()
		publish(t, b, orders, order{ID: 1})
		time.Sleep(time.Minute)
		assert.Equal(t, c.Health().State, wherry.StateRunning)
		time.Sleep(10 * time.Minute)
		assert.Equal(t, len(eventsOf[*wherry.Handled](&ev)), 1)
		assert.Equal(t, len(eventsOf[*wherry.Stalled](&ev)), 0)
		hangs.Store(true)
		publish(t, b, orders, order{ID: 2})
		time.Sleep(5 * time.Minute)
		assert.Equal(t, stalled(t, c, 33*time.Second).State, wherry.StateStalled)
		close(unblock)
		run.mustEnd()
	})
}
