package middleware_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// A page is text that several goroutines write.
type page struct {
	mu  sync.Mutex // guards the field below
	buf bytes.Buffer
}

func (p *page) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.Write(b)
}

// lines takes what was written.
func (p *page) lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.buf.Reset()
	return strings.Split(strings.TrimSuffix(p.buf.String(), "\n"), "\n")
}

// textLogger writes lines without a time.
func textLogger(p *page, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(p, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// answering is a handler whose message says what it wants.
func answering(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
	time.Sleep(10 * time.Millisecond)
	switch m.Value {
	case "retry":
		return wherry.Retry(errDown)
	case "reject":
		return wherry.Reject(errDown)
	case "defer":
		return wherry.Defer(time.Hour)
	case "panic":
		return crash(errDown)
	default:
		return wherry.Ack()
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var p page
		r.publish("secret", "retry", "reject", "defer", "panic")
		r.runHard(time.Second, r.consume(answering, middleware.Log(textLogger(&p, slog.LevelInfo), slog.LevelInfo),
			slowly(), wherry.DrainTime(0), wherry.Name("billing")))
		assert.Equal(t, p.lines(), []string{
			"level=INFO msg=message consumer=billing topic=orders id=secret attempt=1 outcome=ack took=10ms",
			"level=WARN msg=message consumer=billing topic=orders id=retry attempt=1 outcome=retry took=10ms error=down",
			"level=ERROR msg=message consumer=billing topic=orders id=reject attempt=1 outcome=reject took=10ms error=down",
			"level=INFO msg=message consumer=billing topic=orders id=defer attempt=1 outcome=defer took=10ms",
			"level=ERROR msg=message consumer=billing topic=orders id=panic attempt=1 outcome=panic took=10ms",
		})
	})
}

func TestLogLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var p page
		r.publish("ack", "retry", "reject")
		r.runHard(time.Second, r.consume(answering, middleware.Log(textLogger(&p, slog.LevelWarn), slog.LevelDebug),
			slowly(), wherry.DrainTime(0)))
		lines := p.lines()
		assert.Equal(t, len(lines), 2)
		assert.True(t, strings.Contains(lines[0], "id=retry") && strings.Contains(lines[1], "id=reject"), "other lines")

		r.publish("ack", "retry", "reject")
		r.runHard(time.Second, r.consume(answering, middleware.Log(textLogger(&p, slog.LevelError+1), slog.LevelDebug),
			slowly(), wherry.DrainTime(0)))
		assert.Equal(t, p.lines(), []string{""})
	})
}

// Each lane says its group, and neither key, headers nor body.
func TestLogHoldsNoPayload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		news := wherry.NewTopic("news", codec.Text{}, wherry.Fanout("left"))
		pub, err := wherry.NewPublisher(t.Context(), r.broker, news)
		assert.NoError(t, err)
		for range 20 {
			v := "secret"
			assert.NoError(t, pub.Publish(t.Context(), &v, wherry.WithID("x"), wherry.WithKey([]byte("secret")),
				wherry.WithHeader("secret", "secret")))
		}
		assert.NoError(t, pub.Close(t.Context()))
		var p page
		r.run(time.Second, wherry.Consume(wherry.Group(r.broker, "left", news), answering, wherry.Concurrency(4),
			middleware.Log(textLogger(&p, slog.LevelDebug), slog.LevelDebug)))
		lines := p.lines()
		assert.Equal(t, len(lines), 20)
		for _, l := range lines {
			assert.Equal(t, l, "level=DEBUG msg=message consumer=news/left topic=news group=left id=x attempt=1 outcome=ack took=10ms")
		}
	})
}

func TestLogBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var p page
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			time.Sleep(10 * time.Millisecond)
			if b.Len() == 2 {
				return crash(errDown)
			}
			for i, m := range b.All() {
				if m.Value != "ack" {
					b.Set(i, wherry.Reject(errDown))
				}
			}
			return wherry.Ack()
		}
		c := r.consumeBatch(h, middleware.Log(textLogger(&p, slog.LevelInfo), slog.LevelInfo), slowly(), wherry.DrainTime(0))
		r.publish("ack", "reject", "ack")
		r.run(time.Second, c)
		r.publish("ack")
		r.run(time.Second, c)
		r.publish("ack", "ack")
		r.runHard(time.Second, c)
		assert.Equal(t, p.lines(), []string{
			"level=ERROR msg=batch consumer=orders topic=orders messages=3 ack=2 reject=1 took=10ms error=down",
			"level=INFO msg=batch consumer=orders topic=orders messages=1 ack=1 took=10ms",
			"level=ERROR msg=batch consumer=orders topic=orders messages=2 retry=2 took=10ms panic=true",
		})
	})
}

func TestLogMistakes(t *testing.T) {
	t.Parallel()
	assert.NoError(t, startError(t, middleware.Log(slog.New(slog.DiscardHandler), 0)))
	wantStartError(t, middleware.Log(nil, 0), "log: the logger is nil")
}
