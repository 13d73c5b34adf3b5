package wherry_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// A paused loop gets nothing more until the pause is over, or its context. What was received for it goes back meanwhile.
func TestPauseHoldsALoopBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause func(c *wherry.Consumer, stop func())
		want  []string
	}{
		"for a while": {
			pause: func(c *wherry.Consumer, _ func()) { c.PauseFor(time.Minute, "a rest") },
			want:  []string{"1 after 0s", "2 after 1m0s", "3 after 1m0s"},
		},
		"resumed": {
			pause: func(c *wherry.Consumer, _ func()) {
				resume := c.Pause("a rest")
				time.AfterFunc(time.Hour, resume)
			},
			want: []string{"1 after 0s", "2 after 1h0m0s", "3 after 1h0m0s"},
		},
		"until the end": {
			pause: func(c *wherry.Consumer, stop func()) {
				c.Pause("for good")
				time.AfterFunc(time.Minute, stop)
			},
			want: []string{"1 after 0s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				publish(t, b, orders, order{ID: 1}, order{ID: 2}, order{ID: 3})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				var seen calls
				var ev events
				var loop *wherry.Consumer
				began := time.Now()
				for m, err := range wherry.Pull(ctx, wherry.Queue(b, orders), wherry.OnEvent(ev.record)) {
					assert.NoError(t, err)
					seen.add("%d after %v", m.Value.ID, time.Since(began))
					m.Settle(wherry.Ack())
					if m.Value.ID == 1 {
						loop = m.Consumer()
						c.pause(loop, stop)
						assert.Equal(t, loop.Health().State, wherry.StatePaused)
						assert.Equal(t, depthOf(t, b, "orders"), 3)
						time.AfterFunc(time.Second, func() { assert.Equal(t, depthOf(t, b, "orders"), 2) })
					}
					if m.Value.ID == 3 {
						break
					}
				}
				assert.Equal(t, seen.all(), c.want)
				assert.Equal(t, loop.Health().State, wherry.StateStopped)
				assert.Equal(t, len(eventsOf[*wherry.Paused](&ev)), 1)
				released := eventsOf[*wherry.Released](&ev)
				assert.True(t, len(released) > 0 && released[0].Count == 2 && released[0].Why == "paused", "what was not begun goes back")
				assert.Equal(t, depthOf(t, b, "orders"), 3-len(c.want))
			})
		})
	}
}
