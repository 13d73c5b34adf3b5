package wherry_test

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// A loop over a sequence that is quick goes on for as long as there are messages: it takes its keys one by one.
func TestPullOverASequenceStaysQuick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		const n = 4000
		var all []step
		for i := range n {
			all = append(all, step{strconv.Itoa(i), 0})
		}
		publish(t, b, steps, all...)
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		got := 0
		for m, err := range wherry.Pull(ctx, wherry.Sequence(b, steps), wherry.Prefetch(256)) {
			assert.NoError(t, err)
			assert.Equal(t, m.Value.Key, strconv.Itoa(got))
			time.Sleep(time.Microsecond) // more than nothing, less than it takes to wake another
			m.Settle(wherry.Ack())
			if got++; got == n {
				break
			}
		}
		assert.Equal(t, got, n)
		assert.Equal(t, depthOf(t, b, "steps"), 0)
	})
}
