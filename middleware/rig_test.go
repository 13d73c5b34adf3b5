package middleware_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A rig is a broker with one topic, for one test in a synctest bubble.
type rig struct {
	t      *testing.T
	broker *mem.Broker
	topic  wherry.Topic[string]
	began  time.Time
	log    *journal
}

func newRig(t *testing.T) *rig {
	t.Helper()
	b := mem.New(mem.Config{})
	t.Cleanup(func() { assert.NoError(t, b.Close(context.Background())) })
	return &rig{t: t, broker: b, topic: wherry.NewTopic("orders", codec.Text{}), began: time.Now(), log: &journal{}}
}

// publish publishes each value as its own id.
func (r *rig) publish(values ...string) {
	r.t.Helper()
	p, err := wherry.NewPublisher(r.t.Context(), r.broker, r.topic)
	assert.NoError(r.t, err)
	for _, v := range values {
		assert.NoError(r.t, p.Publish(r.t.Context(), &v, wherry.WithID(v)))
	}
	assert.NoError(r.t, p.Close(r.t.Context()))
}

// consume is a consumer of the topic.
func (r *rig) consume(h wherry.Handler[string], opts ...wherry.ConsumeOption) *wherry.Consumer {
	return wherry.Consume(wherry.Queue(r.broker, r.topic), h, opts...)
}

func (r *rig) consumeBatch(h wherry.BatchHandler[string], opts ...wherry.BatchOption) *wherry.Consumer {
	return wherry.ConsumeBatch(wherry.Queue(r.broker, r.topic), h, opts...)
}

// run runs consumers for d, after which they finish what is there.
func (r *rig) run(d time.Duration, rs ...wherry.Runner) {
	r.t.Helper()
	ctx, stop := context.WithTimeout(r.t.Context(), d)
	defer stop()
	assert.NoError(r.t, wherry.Run(ctx, rs...))
}

// sinceStart is the virtual time since the rig was made, in whole milliseconds.
func (r *rig) sinceStart() time.Duration { return time.Since(r.began).Round(time.Millisecond) }

// note puts down what happens and when.
func (r *rig) note(what string) { r.log.add(what + " " + r.sinceStart().String()) }

// dead takes what is in the dead letters.
func (r *rig) dead() []wherry.DeadLetter[string] {
	r.t.Helper()
	var letters []wherry.DeadLetter[string]
	h := func(_ context.Context, m *wherry.Message[wherry.DeadLetter[string]]) wherry.Outcome {
		letters = append(letters, m.Value)
		return wherry.Ack()
	}
	r.run(time.Second, wherry.Consume(wherry.Queue(r.broker, wherry.DeadLetters(r.topic)), h))
	return letters
}

// A journal is lines that several goroutines write.
type journal struct {
	mu    sync.Mutex // guards the field below
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// take returns the lines and forgets them.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// sorted is take for lines of no certain order.
func (j *journal) sorted() []string {
	lines := j.take()
	slices.Sort(lines)
	return lines
}

// crash is what a handler does that panics.
func crash(err error) wherry.Outcome {
	panic(err)
}

// startError is what a consumer with the option fails with, or nil. It is the same for messages and for batches.
func startError(t *testing.T, opt wherry.ConsumerOption) error {
	t.Helper()
	b := mem.New(mem.Config{})
	topic := wherry.NewTopic("orders", codec.Text{})
	one := prepareError(t, wherry.Consume(wherry.Queue(b, topic),
		func(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }, opt))
	many := prepareError(t, wherry.ConsumeBatch(wherry.Queue(b, topic),
		func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome { return wherry.Ack() }, opt))
	if (one == nil) != (many == nil) || one != nil && one.Error() != many.Error() {
		t.Errorf("a consumer of messages says %v, one of batches %v", one, many)
	}
	return one
}

// prepareError prepares a consumer and closes it again.
func prepareError(t *testing.T, c *wherry.Consumer) error {
	t.Helper()
	start, err := c.Prepare(t.Context())
	if err == nil {
		ended, stop := context.WithCancel(t.Context())
		stop()
		assert.NoError(t, start(ended))
	}
	return err
}

// wantStartError checks that an option fails at start with a text.
func wantStartError(t *testing.T, opt wherry.ConsumerOption, text string) {
	t.Helper()
	err := startError(t, opt)
	if err == nil {
		t.Errorf("started, want %q", text)
		return
	}
	assert.Equal(t, err.Error(), "wherry: consume orders: middleware: "+text)
}
