package wherrytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A Publication is a message that was published in a test, by whomever. It is the caller's.
type Publication[T any] struct {
	Value   T
	ID      string
	Key     []byte // nil where there is none
	Headers wherry.Headers
}

// Published returns what was published to the topic and confirmed, in order: by the probe, by handlers, by anybody on the
// test's broker. Bodies that the topic's codec refuses fail the test.
func (p *TopicProbe[T]) Published() []Publication[T] {
	t := p.test
	t.tb.Helper()
	l := t.ledger
	l.mu.Lock()
	var recs []driver.Record
	for i := range l.published {
		if o := &l.published[i]; o.at.topic == p.topic.Name() {
			recs = append(recs, o.rec)
		}
	}
	l.mu.Unlock()
	letters, err := decode(t.context(), p.topic, recs)
	if err != nil {
		t.tb.Fatalf("wherrytest: %v", err)
	}
	out := make([]Publication[T], 0, len(letters))
	for _, m := range letters {
		if err := m.Value.Err; err != nil {
			t.tb.Errorf("wherrytest: %s was published to %s: %v", m.ID(), p.topic.Name(), err)
			continue
		}
		out = append(out, Publication[T]{Value: m.Value.Value, ID: m.ID(), Key: m.Key(), Headers: m.Headers()})
	}
	return out
}

// PublishedValues returns the values of what [TopicProbe.Published] returns, to be compared as a whole.
func (p *TopicProbe[T]) PublishedValues() []T {
	p.test.tb.Helper()
	published := p.Published()
	values := make([]T, len(published))
	for i := range published {
		values[i] = published[i].Value
	}
	return values
}

// DeadLetters returns what the consumers of the topic, or of the probe's group, gave up, in order, as a consumer of the
// dead letters would see it. It reads them from the books: those at the broker stay, and those that were redriven are
// still among them.
func (p *TopicProbe[T]) DeadLetters() []*wherry.Message[wherry.DeadLetter[T]] {
	t := p.test
	t.tb.Helper()
	l := t.ledger
	l.mu.Lock()
	var recs []driver.Record
	for i := range l.dead {
		f := l.dead[i].rec.Control.Failure
		if f.Topic == p.topic.Name() && (p.group == "" || f.Group == p.group) {
			recs = append(recs, l.dead[i].rec)
		}
	}
	l.mu.Unlock()
	letters, err := decode(t.context(), p.topic, recs)
	if err != nil {
		t.tb.Fatalf("wherrytest: %v", err)
	}
	return letters
}

// decode turns records of a topic into messages, those that do not decode included, by way of a broker of its own: the
// topic's codec is the engine's to use.
func decode[T any](
	ctx context.Context, topic wherry.TopicOf[T], recs []driver.Record,
) (out []*wherry.Message[wherry.DeadLetter[T]], err error) {
	if len(recs) == 0 {
		return nil, nil
	}
	b := mem.New(mem.Config{MaxMessages: len(recs), MaxBytes: math.MaxInt})
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	letters := wherry.DeadLetters(topic)
	if p, refused := wherry.NewPublisher(ctx, b, letters); refused == nil {
		err = p.Close(ctx)
	} else { // a fan-out: its groups have dead letters each, and any will do here
		letters = wherry.GroupDeadLetters(topic, "books")
	}
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	to, err := b.OpenSender(ctx, driver.Target{Topic: driver.Topic{Name: letters.Name(), Role: driver.DeadLetter}})
	if err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	recs = slices.Clone(recs)
	for i := range recs {
		recs[i].Control.Hold = nil
	}
	if err := to.Send(ctx, recs); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	source := wherry.Queue(b, letters)
	for m, err := range wherry.Pull(ctx, source, wherry.BodyLimit(math.MaxInt), wherry.HeaderLimit(math.MaxInt)) {
		if err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
		m.Settle(wherry.Ack())
		out = append(out, m.Clone())
		if len(out) == len(recs) {
			break
		}
	}
	return out, nil
}
