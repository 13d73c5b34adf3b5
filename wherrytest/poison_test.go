package wherrytest_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/wherrytest"
)

var (
	views  = wherry.NewTopic("views", codec.BytesView{})
	copies = wherry.NewTopic("copies", codec.Bytes{})
)

// kept runs a handler that keeps what keep takes from each message, and returns it after everything was settled.
func kept(t *testing.T, topic wherry.Topic[[]byte], body string, keep func(m *wherry.Message[[]byte]) []byte) []byte {
	t.Helper()
	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, topic)
	var out []byte
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), topic),
		func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
			out = keep(m)
			if !bytes.Equal(out, []byte(body)) {
				t.Errorf("while the handler runs: %q", out)
			}
			return wherry.Ack()
		}))
	in.Publish([]byte(body))
	tt.Quiesce()
	in.ExpectHandled(1)
	return out
}

func TestWhoeverKeepsABodyIsFound(t *testing.T) {
	t.Parallel()
	const body = "a body that a handler must not keep"
	rubbish := bytes.Repeat([]byte{0xdb}, len(body))
	got := kept(t, copies, body, func(m *wherry.Message[[]byte]) []byte { return m.Body() })
	assert.Equal(t, got, rubbish)
	got = kept(t, views, body, func(m *wherry.Message[[]byte]) []byte { return m.Value })
	assert.Equal(t, got, rubbish)
}

func TestWhatMayBeKeptStays(t *testing.T) {
	t.Parallel()
	const body = "a body of the handler's own"
	got := kept(t, copies, body, func(m *wherry.Message[[]byte]) []byte { return m.Value })
	assert.Equal(t, string(got), body)
	got = kept(t, views, body, func(m *wherry.Message[[]byte]) []byte { return m.Clone().Value })
	assert.Equal(t, string(got), body)
	got = kept(t, views, body, func(m *wherry.Message[[]byte]) []byte { return m.Clone().Body() })
	assert.Equal(t, string(got), body)
}

func TestRecordersAndBooksKeepCopies(t *testing.T) {
	t.Parallel()
	tt := wherrytest.New(t)
	in := wherrytest.Probe(tt, views)
	rec := wherrytest.Record(func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
		if string(m.Value) == "bad" {
			return wherry.Reject(errBad)
		}
		return wherry.Ack()
	})
	tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), views), rec.Handle))
	in.Publish([]byte("good"), []byte("bad"))
	tt.Quiesce()
	assert.Equal(t, string(rec.Calls()[0].Value), "good")
	assert.Equal(t, string(rec.Values()[0]), "good")
	assert.Equal(t, string(in.Published()[1].Value), "bad")
	assert.Equal(t, string(in.DeadLetters()[0].Value.Value), "bad")
}
