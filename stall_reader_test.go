package wherry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// What another reader of a broadcast leaves waiting is not this one's: it is no stall, no backlog, and nothing that a stop waits
// for or counts. Its own is.
func TestReadersKnowTheirOwn(t *testing.T) {
	t.Parallel()
	for name, newBroker := range map[string]func() driver.Broadcaster{
		"broker": func() driver.Broadcaster { return mem.New(mem.Config{}) },
		"log":    func() driver.Broadcaster { return mem.NewLog(mem.LogConfig{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { readersKnowTheirOwn(t, newBroker()) })
		})
	}
}

func readersKnowTheirOwn(t *testing.T, b driver.Broadcaster) {
	t.Helper()
	var ev events
	reader := func(name string) *wherry.Consumer {
		return wherry.Consume(wherry.Broadcast(b, heardSteps), newStage(t).handle, wherry.Name(name), wherry.OnEvent(ev.record))
	}
	one, other := reader("one"), reader("other")
	resume := one.Pause("a test")
	first, second := start(t, one), start(t, other)
	synctest.Wait()
	publish(t, b, heardSteps, step{Key: "a"})
	time.Sleep(time.Minute)
	h := other.Health()
	assert.Equal(t, h.State, wherry.StateRunning)
	assert.Equal(t, h.Handled, uint64(1))
	assert.Equal(t, h.Backlog, int64(0))
	assert.Equal(t, one.Health().Backlog, int64(1))
	assert.Equal(t, len(eventsOf[*wherry.Stalled](&ev)), 0)

	stopped := time.Now()
	second.mustEnd()
	assert.True(t, time.Since(stopped) < time.Second, "it waits for what is not its own")
	resume()
	first.mustEnd()
	assert.Equal(t, one.Health().Handled, uint64(1))
	assert.NoError(t, b.Close(context.Background()))
}

// What waits behind a key, or in a partition, that another consumer has is no stall of this one, though the other hangs.
func TestStallIsOfWhoHasTheKey(t *testing.T) {
	t.Parallel()
	for name, newBroker := range map[string]func() driver.Sequencer{
		"broker": func() driver.Sequencer { return mem.New(mem.Config{}) },
		"log":    func() driver.Sequencer { return mem.NewLog(mem.LogConfig{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { stallIsOfWhoHasTheKey(t, newBroker()) })
		})
	}
}

func stallIsOfWhoHasTheKey(t *testing.T, b driver.Sequencer) {
	t.Helper()
	unblock := make(chan struct{})
	var consumers []*wherry.Consumer
	var runs []*run
	for _, name := range []string{"one", "other"} {
		c := wherry.Consume(wherry.Sequence(b, steps), func(context.Context, *wherry.Message[step]) wherry.Outcome {
			<-unblock
			return wherry.Ack()
		}, wherry.Name(name), wherry.Prefetch(4), wherry.NoHandlerTimeout())
		consumers, runs = append(consumers, c), append(runs, start(t, c))
	}
	synctest.Wait()
	publish(t, b, steps, stepsOf(1000, "a")...)
	time.Sleep(time.Minute)
	var stalled, idle int
	for _, c := range consumers {
		switch h := c.Health(); {
		case h.State == wherry.StateStalled:
			stalled++
			assert.True(t, strings.Contains(h.Cause, "handler blocked for"), h.Cause)
		case h.Ready && h.InFlight == 0:
			idle++
			assert.True(t, h.Backlog > 900, "the backlog is the sequence's")
		}
	}
	assert.Equal(t, stalled, 1)
	assert.Equal(t, idle, 1)
	close(unblock)
	for _, r := range runs {
		r.mustEnd()
	}
	assert.NoError(t, b.Close(context.Background()))
}

// What waits for a broadcast its reader knows: while there is none nobody does, and it is not 0.
func TestBacklogWithoutAReaderIsNotKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &askedBroker{toldBroker: newTold(t)}
		b.own.Store(7)
		c := wherry.Consume(wherry.Broadcast(b, heardSteps), newStage(t).handle, wherry.StallAfter(time.Hour))
		r := start(t, c)
		time.Sleep(10 * time.Minute)
		assert.Equal(t, c.Health().Backlog, int64(7))
		b.fail(nil, errors.New("not now"))
		b.kill(t, 0)
		time.Sleep(10 * time.Minute)
		assert.Equal(t, c.Health().State, wherry.StateAway)
		assert.Equal(t, c.Health().Workers, 0)
		assert.Equal(t, c.Health().Backlog, int64(-1))
		b.own.Store(0)
		b.fail(nil, nil)
		time.Sleep(10 * time.Minute)
		assert.Equal(t, c.Health().State, wherry.StateRunning)
		assert.Equal(t, c.Health().Backlog, int64(0))
		r.mustEnd()
	})
}
