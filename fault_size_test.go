package wherry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// wired is the in-process broker as one to which everything about a record counts that goes over its wire.
type wired struct {
	testBroker
	most int
}

func (w wired) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	s, err := w.testBroker.OpenSender(ctx, t)
	if err != nil {
		return nil, err
	}
	own := wiredSender{s, w.most}
	if h, ok := s.(driver.Holder); ok {
		return wiredHolder{own, h}, nil
	}
	return own, nil
}

type wiredSender struct {
	driver.Sender
	most int
}

func (w wiredSender) Send(ctx context.Context, batch []driver.Record) error {
	if err := w.measure(batch); err != nil {
		return err
	}
	return w.Sender.Send(ctx, batch)
}

func (w wiredSender) Limits() driver.SendLimits {
	l := w.Sender.Limits()
	l.MaxRecord = w.most
	return l
}

func (w wiredSender) measure(batch []driver.Record) error {
	for i := range batch {
		r := &batch[i]
		size := r.Size() + len(driver.IDHeader) + len(r.ID.String()) + len(driver.ContentTypeHeader) + len(r.ContentType) +
			len(driver.ControlHeader) + len(r.Control.Append(nil))
		if size > w.most {
			return fmt.Errorf("%w: %w: %d bytes on the wire, limit %d", driver.ErrNotSent, driver.ErrTooLarge, size, w.most)
		}
	}
	return nil
}

type wiredHolder struct {
	wiredSender
	driver.Holder
}

func (w wiredHolder) SendAt(ctx context.Context, batch []driver.Record) error {
	if err := w.measure(batch); err != nil {
		return err
	}
	return w.Holder.SendAt(ctx, batch)
}

// hugeTexts are texts of errors that are hard to carry.
var hugeTexts = map[string]string{
	"plain":        strings.Repeat("x", 1<<20),
	"escaped":      strings.Repeat("é;=%\n\x00", 1<<20/8),
	"broken UTF-8": strings.Repeat("a\xff", 1<<19),
}

// What was as large as a message may be is held for its retry and dead-lettered, with an error of a megabyte and a
// dead-letter topic that refuses at first: its body is the same byte for byte, and the error's text is cut.
func TestFault29LargestMessageIsDeadLettered(t *testing.T) {
	t.Parallel()
	const wire, reserved = 64 << 10, 8 << 10
	long := strings.Repeat("n", 190)
	queue := wherry.NewTopic(long, jsonOrders{})
	fan := wherry.NewTopic(long, jsonOrders{}, wherry.Fanout(long))
	for name, text := range hugeTexts {
		for how, cfg := range map[string]mem.Config{"delays": {}, "no delay": brokers["no delay"]} {
			t.Run(name+", "+how, func(t *testing.T) {
				t.Parallel()
				inEach(t, allShapes, func(t *testing.T, s shape) {
					s.topic = queue
					if s.group != "" {
						s.topic, s.group = fan, long
					}
					b := mem.New(cfg)
					defer b.Close(context.Background())
					limited := wired{b, wire}
					p, err := wherry.NewPublisher(t.Context(), limited, s.topic)
					assert.NoError(t, err)
					header := wherry.WithHeader("h", strings.Repeat("v", 10_000))
					id := wherry.WithID(strings.Repeat("i", 256))
					largest := order{ID: 1, Text: strings.Repeat("b", wire-reserved-10_001-len(`{"id":1,"text":""}`))}
					assert.NoError(t, p.Publish(t.Context(), &largest, header, id))
					body, err := json.Marshal(largest)
					assert.NoError(t, err)
					largest.Text += "b"
					assert.ErrorIs(t, p.Publish(t.Context(), &largest, header, id), wherry.ErrTooLarge)

					b.Faults().FailSend(s.dead().Name(), 3, nil)
					r := start(t, s.runner(limited, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
						return wherry.Retry(errors.New(fmt.Sprint(m.Attempt(), text)))
					}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3})))
					time.Sleep(time.Minute)
					r.mustEnd()
					assert.Equal(t, s.left(t, b), 0)
					dead := collectDead(t, b, s.dead())
					assert.Equal(t, len(dead), 1)
					for _, m := range dead {
						assert.True(t, bytes.Equal(m.Body(), body), "the body is the same byte for byte")
						assert.Equal(t, len(m.Headers().Get("h")), 10_000)
						assert.Equal(t, m.ID(), strings.Repeat("i", 256))
						assert.Equal(t, m.Value.Attempts, 3)
						assertCut(t, m.Value.FirstError, "1")
						assertCut(t, m.Value.LastError, "3")
					}
				})
			})
		}
	}
}

// assertCut looks at the text of an error that was cut.
func assertCut(t *testing.T, text, begins string) {
	t.Helper()
	assert.True(t, strings.HasPrefix(text, begins), "the text begins as the error's")
	assert.True(t, utf8.ValidString(text), "the text is UTF-8")
	assert.True(t, len(text) > 1000 && len(text) <= 1<<10+len("…"), fmt.Sprintf("the text has %d bytes", len(text)))
}

// The same with the limits that everybody has: 10 MiB of body, 64 KiB of headers.
func TestFault29DefaultLimits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		raw := wherry.NewTopic("raw", codec.Bytes{})
		p, err := wherry.NewPublisher(t.Context(), b, raw)
		assert.NoError(t, err)
		body := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
		header := wherry.WithHeader("h", strings.Repeat("v", 64<<10-1))
		assert.NoError(t, p.Publish(t.Context(), &body, header))
		assert.ErrorIs(t, p.Publish(t.Context(), &body, wherry.WithHeader("h", strings.Repeat("v", 64<<10))), wherry.ErrTooLarge)
		larger := append(bytes.Clone(body), 0)
		assert.ErrorIs(t, p.Publish(t.Context(), &larger), wherry.ErrTooLarge)

		b.Faults().FailSend("raw.dlq", 3, nil)
		r := start(t, wherry.Consume(wherry.Queue(b, raw), func(context.Context, *wherry.Message[[]byte]) wherry.Outcome {
			return wherry.Reject(errors.New(strings.Repeat("long ", 1<<20/5)))
		}))
		time.Sleep(time.Minute)
		r.mustEnd()
		dead := collectDead(t, b, wherry.DeadLetters(raw))
		assert.Equal(t, len(dead), 1)
		assert.True(t, bytes.Equal(dead[0].Body(), body) && bytes.Equal(dead[0].Value.Value, body), "the body is the same byte for byte")
		assertCut(t, dead[0].Value.LastError, "long ")
	})
}

// What a foreign program sent over the limits is dead-lettered unseen, and can be read there.
func TestFault29TooLargeIsDeadLetteredAndReadThere(t *testing.T) {
	t.Parallel()
	inEach(t, allShapes, func(t *testing.T, s shape) {
		b := newMem(t)
		publish(t, b, s.topic)
		large, err := json.Marshal(order{ID: 1, Text: strings.Repeat("b", 2000)})
		assert.NoError(t, err)
		headers := []driver.Header{{Key: "h", Value: strings.Repeat("v", 70<<10)}}
		assert.NoError(t, b.Faults().Inject(s.topic.Name(), driver.Record{Body: large}))
		assert.NoError(t, b.Faults().Inject(s.topic.Name(), driver.Record{Body: []byte(`{"id":2}`), Headers: headers}))
		assert.NoError(t, b.Faults().Inject(s.topic.Name(), driver.Record{Body: []byte(`{"id":3}`)}))
		var seen calls
		r := start(t, s.runner(b, func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Value.ID)
			return wherry.Ack()
		}, wherry.BodyLimit(1000)))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"3"})
		dead := collectDead(t, b, s.dead())
		assert.Equal(t, len(dead), 2)
		for _, m := range dead {
			assert.Equal(t, m.Value.Reason, wherry.ReasonTooLarge)
			assert.ErrorIs(t, m.Value.Err, wherry.ErrTooLarge)
			assert.Equal(t, m.Value.Attempts, 0)
			assert.Equal(t, m.Value.Value, order{})
			assert.True(t, bytes.Equal(m.Body(), large) || m.Headers().Len() == 1, "the body and the headers are there")
		}
	})
}
