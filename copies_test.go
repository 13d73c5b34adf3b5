package wherry_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// loud has another Append than the codec that it embeds.
type loud struct{ codec.BytesView }

func (l loud) Append(dst []byte, v *[]byte) ([]byte, error) {
	dst, err := l.BytesView.Append(dst, v)
	return append(dst, '!'), err
}

// Bodies that are copies of their values are what the values were at the publish, within the same limits, and a codec that only
// embeds one of bytes is asked.
func TestBytesArePublished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		codec wherry.Codec[[]byte]
		want  string
	}{
		"bytes":    {codec.Bytes{}, "body"},
		"view":     {codec.BytesView{}, "body"},
		"embedded": {loud{}, "body!"},
		"pointer":  {&codec.Bytes{}, "body"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				topic := wherry.NewTopic("bytes", c.codec, wherry.BodyLimit(8))
				p, err := wherry.NewPublisher(t.Context(), b, topic)
				assert.NoError(t, err)
				var got calls
				ids := make(map[string]bool)
				run := start(t, wherry.Consume(wherry.Queue(b, topic), func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
					got.add("%s", m.Value)
					ids[m.ID()] = true
					return wherry.Ack()
				}))
				body := []byte("body")
				for range 2 {
					assert.NoError(t, p.Publish(t.Context(), &body))
				}
				assert.NoError(t, p.Publish(t.Context(), &body, wherry.WithID("mine")))
				copy(body, "####")
				large := make([]byte, 9)
				assert.ErrorIs(t, p.Publish(t.Context(), &large), wherry.ErrTooLarge)
				assert.ErrorIs(t, p.Publish(t.Context(), nil), wherry.ErrNotSent)
				synctest.Wait()
				assert.NoError(t, p.Close(t.Context()))
				assert.ErrorIs(t, p.Publish(t.Context(), &body), wherry.ErrClosed)
				run.mustEnd()
				all := got.all()
				assert.Equal(t, len(all), 3)
				for _, v := range all {
					assert.Equal(t, v, c.want)
				}
				assert.Equal(t, len(ids), 3)
				assert.True(t, ids["mine"], "the id that was asked for is missing")
			})
		})
	}
}

var _ wherry.Codec[[]byte] = loud{}

// A watched sender tells which way records go.
type watched struct {
	*mem.Broker
	way string
}

func (w *watched) OpenSender(ctx context.Context, to driver.Target) (driver.Sender, error) {
	s, err := w.Broker.OpenSender(ctx, to)
	return watchedSender{s, w}, err
}

type watchedSender struct {
	driver.Sender
	w *watched
}

func (s watchedSender) Send(ctx context.Context, batch []driver.Record) error {
	s.w.way = "sent"
	return s.Sender.Send(ctx, batch)
}

func (s watchedSender) Accept(r *driver.Record) bool {
	s.w.way = "accepted"
	return s.Sender.(driver.Accepter).Accept(r)
}

func (s watchedSender) AcceptCopy(body []byte, contentType string, published driver.Stamp) bool {
	s.w.way = "copied"
	return s.Sender.(driver.Accepter).AcceptCopy(body, contentType, published)
}

// A long body is not copied while the broker is locked.
func TestLongBytesAreHandedOver(t *testing.T) {
	t.Parallel()
	w := &watched{Broker: mem.New(mem.Config{})}
	p, err := wherry.NewPublisher(t.Context(), w, wherry.NewTopic("bytes", codec.Bytes{}))
	assert.NoError(t, err)
	for size, want := range map[int]string{0: "copied", 64: "copied", 4 << 10: "copied", 4<<10 + 1: "accepted", 1 << 20: "accepted"} {
		body := make([]byte, size)
		assert.NoError(t, p.Publish(t.Context(), &body))
		assert.Equal(t, w.way, want)
	}
}
