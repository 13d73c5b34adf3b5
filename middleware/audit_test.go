package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

var errSink = errors.New("sink away")

// kept is a sink that puts a line per record into a journal.
func kept(j *journal) middleware.AuditSink {
	return middleware.AuditFunc(func(_ context.Context, rs []middleware.AuditRecord) error {
		for _, a := range rs {
			j.add(fmt.Sprintf("%s %d %s %s %v", a.ID, a.Attempt, a.Outcome, a.Error, a.Took))
		}
		return nil
	})
}

func TestAuditEachAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			time.Sleep(10 * time.Millisecond)
			switch {
			case m.Value == "bad":
				return wherry.Reject(errDown)
			case m.Value == "waits" && r.sinceStart() < time.Second:
				return wherry.Defer(time.Second)
			case m.Value == "fails" && m.Attempt() == 1:
				return wherry.Retry(errDown)
			case m.Value == "fails" && m.Attempt() == 2:
				return crash(errDown)
			default:
				return wherry.Ack()
			}
		}
		r.publish("a", "bad", "waits", "fails")
		r.run(10*time.Second, r.consume(h, middleware.Audit(kept(r.log), middleware.AuditConfig{}), wherry.RetryWith(ladder)))
		assert.Equal(t, r.log.sorted(), []string{
			"a 1 ack  10ms", "bad 1 reject down 10ms", "fails 1 retry down 10ms", "fails 2 panic  10ms", "fails 3 ack  10ms",
			"waits 1 ack  10ms", "waits 1 defer  10ms",
		})
	})
}

// A record says whose it is, in what becomes JSON, and travels by a topic.
func TestAuditTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		orders := wherry.NewKeyedTopic("news", codec.Text{},
			func(dst []byte, v *string) []byte { return append(dst, *v...) }, wherry.Fanout("left"))
		audit := wherry.NewTopic("audit", codec.JSON[middleware.AuditRecord]{})
		p, err := wherry.NewPublisher(t.Context(), r.broker, orders)
		assert.NoError(t, err)
		to, err := wherry.NewPublisher(t.Context(), r.broker, audit)
		assert.NoError(t, err)
		v := "key"
		assert.NoError(t, p.Publish(t.Context(), &v, wherry.WithID("id")))
		assert.NoError(t, p.Close(t.Context()))

		long := errors.New(strings.Repeat("ä", 1000))
		h := func(context.Context, *wherry.Message[string]) wherry.Outcome {
			time.Sleep(time.Second)
			return wherry.Reject(long)
		}
		began := time.Now()
		r.run(time.Second, wherry.Consume(wherry.Group(r.broker, "left", orders), h, wherry.Name("billing"),
			middleware.Audit(middleware.AuditTo(to), middleware.AuditConfig{})))
		assert.NoError(t, to.Close(t.Context()))

		var got []middleware.AuditRecord
		r.run(time.Second, wherry.Consume(wherry.Queue(r.broker, audit),
			wherry.Func(func(_ context.Context, a middleware.AuditRecord) error {
				got = append(got, a)
				return nil
			})))
		assert.Equal(t, len(got), 1)
		a := got[0]
		assert.True(t, a.Start.Equal(began), "a wrong start")
		assert.Equal(t, a.Error, strings.Repeat("ä", 512)+"…")
		a.Start, a.Error = time.Time{}, ""
		assert.Equal(t, a, middleware.AuditRecord{
			ID: "id", Topic: "news", Group: "left", Key: []byte("key"), Consumer: "billing", Attempt: 1, Outcome: "reject",
			Took: time.Second,
		})
		text, err := json.Marshal(a)
		assert.NoError(t, err)
		assert.Equal(t, string(text), `{"id":"id","topic":"news","group":"left","key":"a2V5","consumer":"billing",`+
			`"attempt":1,"outcome":"reject","start":"0001-01-01T00:00:00Z","took_ns":1000000000}`)
	})
}

// Without Ignore nothing ends unrecorded: the message is handled again until the sink keeps its record.
func TestAuditComplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		calls := 0
		sink := middleware.AuditFunc(func(ctx context.Context, rs []middleware.AuditRecord) error {
			assert.NoError(t, ctx.Err())
			calls++
			if calls == 1 {
				return errSink
			}
			return kept(r.log).Record(ctx, rs)
		})
		h := func(ctx context.Context, _ *wherry.Message[string]) wherry.Outcome {
			<-ctx.Done() // the sink has a context of its own
			return wherry.Ack()
		}
		events := wherry.OnEvent(func(e wherry.Event) {
			if e, ok := e.(*wherry.Retried); ok {
				assert.ErrorIs(t, e.Err, errSink)
			}
		})
		r.publish("a")
		r.run(10*time.Second, r.consume(h, events, middleware.Audit(sink, middleware.AuditConfig{}),
			wherry.HandlerTimeout(20*time.Millisecond)))
		assert.Equal(t, r.log.take(), []string{"a 2 ack  20ms"})
		assert.Equal(t, len(r.dead()), 0)
	})
}

// With Ignore what the handler said stands, and the error is not lost.
func TestAuditIgnore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		sink := middleware.AuditFunc(func(ctx context.Context, _ []middleware.AuditRecord) error {
			<-ctx.Done()
			return errSink
		})
		c := middleware.AuditConfig{Timeout: time.Second, Ignore: func(err error) { r.note(err.Error()) }}
		r.publish("a")
		r.run(10*time.Second, r.consume(r.noted, middleware.Audit(sink, c)))
		assert.Equal(t, r.log.take(), []string{"a 0s", "middleware: audit: sink away 1s"})
	})
}

// A batch has a record per message, and only what was not kept runs again.
func TestAuditBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		calls := 0
		sink := middleware.AuditFunc(func(ctx context.Context, rs []middleware.AuditRecord) error {
			calls++
			if calls > 1 {
				return kept(r.log).Record(ctx, rs)
			}
			if err := kept(r.log).Record(ctx, rs[2:]); err != nil {
				return err
			}
			return &driver.BatchError{Errs: []error{errSink, errSink, nil, nil}}
		})
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			if b.Len() == 4 {
				b.Set(1, wherry.Retry(errDown))
				b.Set(2, wherry.Reject(errDown))
			}
			return wherry.Ack()
		}
		r.publish("a", "b", "c", "d")
		r.run(10*time.Second, r.consumeBatch(h, middleware.Audit(sink, middleware.AuditConfig{}), wherry.RetryWith(ladder)))
		assert.Equal(t, r.log.take(), []string{
			"c 1 reject down 0s", "d 1 ack  0s", // a's record was refused; b runs again in any case
			"a 2 ack  0s", "b 2 ack  0s",
		})
		assert.Equal(t, len(r.dead()), 1)
	})
}

// What was taken out of a batch further in is recorded too, and a panic is of those that had no outcome yet.
func TestAuditBatchPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		skips := wherry.UseBatch(func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				b.Skip(0, wherry.Defer(time.Hour))
				return next(ctx, b)
			}
		})
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			b.Set(0, wherry.Ack())
			return crash(errDown)
		}
		r.publish("a", "b", "c")
		r.runHard(time.Second, r.consumeBatch(h, middleware.Audit(kept(r.log), middleware.AuditConfig{}), skips, slowly(),
			wherry.DrainTime(0)))
		assert.Equal(t, r.log.take(), []string{"a 1 defer  0s", "b 1 ack  0s", "c 1 panic  0s"})
	})
}

func TestAuditMistakes(t *testing.T) {
	t.Parallel()
	sink := kept(&journal{})
	assert.NoError(t, startError(t, middleware.Audit(sink, middleware.AuditConfig{})))
	wantStartError(t, middleware.Audit(middleware.AuditFunc(nil), middleware.AuditConfig{}), "audit: the sink is nil")
	wantStartError(t, middleware.Audit(nil, middleware.AuditConfig{}), "audit: the sink is nil")
	wantStartError(t, middleware.Audit(middleware.AuditTo(nil), middleware.AuditConfig{Timeout: -1}),
		"audit: the sink is nil\nTimeout is -1ns, want more than 0")
}
