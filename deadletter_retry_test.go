package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
)

// TestRetriedDeadLetterKeepsWhatIsKnown has the consumer of dead letters fail once, be deferred, and then give up: what the
// dead letter says of its original is the same each time, and a redrive by reason still finds it.
func TestRetriedDeadLetterKeepsWhatIsKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1})
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			return wherry.Reject(errors.New("unknown customer"))
		}))
		synctest.Wait()
		r.mustEnd()

		dead := wherry.DeadLetters(orders)
		var seen calls
		r = start(t, wherry.Consume(wherry.Queue(b, dead), func(_ context.Context, m *wherry.Message[wherry.DeadLetter[order]]) wherry.Outcome {
			seen.add("attempt %d: %s in %s: %s, %d", m.Attempt(), m.Value.Reason, m.Value.Topic, m.Value.LastError, m.Value.Attempts)
			switch len(seen.all()) {
			case 1:
				return wherry.Retry(errors.New("mail server away"))
			case 2:
				return wherry.Defer(time.Second)
			default:
				return wherry.Reject(errors.New("no such mailbox"))
			}
		}))
		time.Sleep(time.Minute)
		r.mustEnd()
		const known = "rejected in orders: unknown customer, 1"
		assert.Equal(t, seen.all(), []string{"attempt 1: " + known, "attempt 2: " + known, "attempt 2: " + known})

		deader := collectDead(t, b, wherry.DeadLetters(dead))
		assert.Equal(t, len(deader), 1)
		last := deader[0].Value
		assert.Equal(t, fmt.Sprint(last.Reason, " in ", last.Topic, ": ", last.LastError, ", ", last.Attempts),
			"rejected in orders.dlq: no such mailbox, 2")
	})
}
