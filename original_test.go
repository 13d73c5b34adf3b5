package wherry_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// bridged takes one message of a topic over to another by publish, and returns it as it comes out there.
func bridged(t *testing.T, b *mem.Broker, publish func(context.Context, *wherry.Message[[]byte]) error) *wherry.Message[[]byte] {
	t.Helper()
	pulled := func(topic wherry.Topic[[]byte], see func(ctx context.Context, m *wherry.Message[[]byte])) {
		for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, topic)) {
			assert.NoError(t, err)
			see(t.Context(), m.Message)
			m.Settle(wherry.Ack())
			break
		}
	}
	pulled(wherry.NewTopic("here", codec.Bytes{}), func(ctx context.Context, m *wherry.Message[[]byte]) {
		assert.NoError(t, publish(ctx, m))
	})
	var out *wherry.Message[[]byte]
	pulled(wherry.NewTopic("there", codec.Bytes{}), func(_ context.Context, m *wherry.Message[[]byte]) { out = m.Clone() })
	return out
}

// What is passed on as the original is what it was: id, key, headers, content type and time.
func TestOriginalIsPassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		here, err := wherry.NewPublisher(t.Context(), b, wherry.NewTopic("here", codec.JSON[order]{}))
		assert.NoError(t, err)
		there, err := wherry.NewPublisher(t.Context(), b, wherry.NewTopic("there", codec.Bytes{}))
		assert.NoError(t, err)
		changed := []byte("changed")
		for name, c := range map[string]struct {
			in          []wherry.MessageOption
			out         []wherry.MessageOption
			body        *[]byte
			contentType string
			headers     int
		}{
			"with an id of its own": {
				in: []wherry.MessageOption{
					wherry.WithID("order-1"), wherry.WithKey([]byte("k")), wherry.WithHeader("a", "1"), wherry.WithHeader("a", "2"),
				},
				contentType: "application/json", headers: 2,
			},
			"with an id that was made":  {contentType: "application/json"},
			"with another body":         {body: &changed, contentType: "application/octet-stream"},
			"with one more header":      {out: []wherry.MessageOption{wherry.WithHeader("via", "bridge")}, contentType: "application/json", headers: 1},
			"with an id in its place":   {out: []wherry.MessageOption{wherry.WithID("other")}, contentType: "application/json"},
			"with a key in its place":   {in: []wherry.MessageOption{wherry.WithKey([]byte("k"))}, out: []wherry.MessageOption{wherry.WithKey([]byte("l"))}, contentType: "application/json"},
			"without anything, delayed": {out: []wherry.MessageOption{wherry.WithDelay(time.Minute)}, contentType: "application/json"},
		} {
			assert.NoError(t, here.Publish(t.Context(), &order{ID: 7}, c.in...))
			time.Sleep(time.Hour)
			var original *wherry.Message[[]byte]
			got := bridged(t, b, func(ctx context.Context, m *wherry.Message[[]byte]) error {
				original = m.Clone()
				body := &m.Value
				if c.body != nil {
					body = c.body
				}
				return there.Publish(ctx, body, append([]wherry.MessageOption{wherry.WithOriginal(m)}, c.out...)...)
			})
			wantID, wantKey := original.ID(), string(original.Key())
			if strings.Contains(name, "an id in its place") {
				wantID = "other"
			}
			if strings.Contains(name, "a key in its place") {
				wantKey = "l"
			}
			assert.Equal(t, got.ID(), wantID)
			assert.Equal(t, string(got.Key()), wantKey)
			assert.Equal(t, got.Headers().Len(), c.headers)
			assert.Equal(t, got.ContentType(), c.contentType)
			assert.True(t, got.Published().Equal(original.Published()), name+": when it was first published")
			assert.Equal(t, got.Attempt(), 1)
		}
		assert.NoError(t, there.Publish(t.Context(), &changed))
		for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, wherry.NewTopic("there", codec.Bytes{}))) {
			assert.NoError(t, err)
			assert.Equal(t, m.Headers().Len(), 0) // nothing of the originals is left in what the publisher writes into
			assert.Equal(t, m.ContentType(), "application/octet-stream")
			assert.True(t, time.Since(m.Published()) < time.Second, "when it was published")
			break
		}
	})
}

// A foreign message has neither an id nor a time: what is passed on has those of any other message.
func TestOriginalWithoutAnID(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	s, err := b.OpenSender(t.Context(), driver.Target{Topic: driver.Topic{Name: "here"}})
	assert.NoError(t, err)
	assert.NoError(t, s.Send(t.Context(), []driver.Record{{Body: []byte("from elsewhere")}}))
	there, err := wherry.NewPublisher(t.Context(), b, wherry.NewTopic("there", codec.Bytes{}))
	assert.NoError(t, err)
	got := bridged(t, b, func(ctx context.Context, m *wherry.Message[[]byte]) error {
		assert.Equal(t, m.ID(), "")
		return there.Publish(ctx, &m.Value, wherry.WithOriginal(m))
	})
	assert.True(t, got.ID() != "" && !got.Published().IsZero(), "made anew")
	assert.Equal(t, string(got.Body()), "from elsewhere")
}

// No message is no original, and one is not that of many.
func TestOriginalThatIsNone(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	p, err := wherry.NewPublisher(t.Context(), b, orders)
	assert.NoError(t, err)
	none := wherry.WithOriginal(nil)
	assert.ErrorIs(t, p.Publish(t.Context(), &order{ID: 1}, none), wherry.ErrNotSent)
	err = p.PublishAll(t.Context(), slices.Values([]*order{{ID: 1}}), none)
	assert.ErrorIs(t, err, wherry.ErrNotSent)
	_, each := errors.AsType[*wherry.BatchError](err)
	assert.True(t, !each, "it is about none of the values")
	assert.Equal(t, depthOf(t, b, "orders"), 0)
}
