package wherry

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Pauses of a consumer that does not run end by nobody's timer. They are forgotten all the same.
func TestPausesOfAStoppedConsumerAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		c := Consume(Queue(b, NewTopic("orders", codec.Text{})), Func(func(context.Context, string) error { return nil }))
		for range 1000 {
			c.PauseFor(time.Second, "a rest")
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, len(c.pauses), 10)
	})
}
