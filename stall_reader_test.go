package wherry_test

import (
	"context"
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
