package wherry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
)

// A clone of a dead letter says why it is one, whatever its codec does with bodies.
func TestCloneOfADeadLetterKeepsItsReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		views := wherry.NewTopic("views", codec.BytesView{})
		publish(t, b, views, []byte("body"))
		r := start(t, wherry.Consume(wherry.Queue(b, views), func(context.Context, *wherry.Message[[]byte]) wherry.Outcome {
			return wherry.Reject(errors.New("unwanted"))
		}))
		synctest.Wait()
		r.mustEnd()
		dead := collectDead(t, b, wherry.DeadLetters(views)) // which clones
		assert.Equal(t, len(dead), 1)
		v := dead[0].Value
		assert.Equal(t, string(v.Value), "body")
		assert.Equal(t, v.Reason, wherry.ReasonRejected)
		assert.Equal(t, v.Topic, "views")
		assert.Equal(t, v.LastError, "unwanted")
		assert.NoError(t, v.Err)
	})
}
