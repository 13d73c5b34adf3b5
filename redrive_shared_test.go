package wherry_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
)

// TestRedriveOfSharedDeadLetters has two topics, and two groups of a third, give up into one dead-letter topic. Each redrive
// moves its own and leaves the others.
func TestRedriveOfSharedDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		shared := wherry.DeadLetterTo("graveyard")
		bills := wherry.NewTopic("bills", codec.JSON[order]{}, shared)
		refunds := wherry.NewTopic("refunds", codec.JSON[order]{}, shared)
		news := wherry.NewTopic("news", codec.JSON[order]{}, wherry.Fanout("mail", "web"), shared)

		var seen calls
		mended := false
		handler := func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if !mended {
				return wherry.Reject(nil)
			}
			seen.add("%s %s %d", m.Topic(), m.Group(), m.Value.ID)
			return wherry.Ack()
		}
		consumers := []wherry.Runner{
			wherry.Consume(wherry.Queue(b, bills), handler),
			wherry.Consume(wherry.Queue(b, refunds), handler),
			wherry.Consume(wherry.Group(b, "mail", news), handler),
			wherry.Consume(wherry.Group(b, "web", news), handler),
		}
		publish(t, b, bills, order{ID: 1})
		publish(t, b, refunds, order{ID: 2})
		publish(t, b, news, order{ID: 3})
		r := start(t, consumers...)
		synctest.Wait()
		r.mustEnd()

		mended = true
		got, err := wherry.Redrive(t.Context(), b, refunds)
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: 1, Passed: 3})
		got, err = wherry.Redrive(t.Context(), b, news, wherry.RedriveGroup("web"))
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: 1, Passed: 2})
		for _, c := range consumers {
			r := start(t, c)
			synctest.Wait()
			r.mustEnd()
		}
		assert.Equal(t, seen.all(), []string{"refunds  2", "news web 3"})
	})
}
