package wherrytest

import (
	"errors"
	"fmt"

	"github.com/wherryhq/wherry"
)

// A TopicProbe publishes to a topic and tells what became of its messages. It is made by [Probe]. Its methods belong to
// the test's goroutine.
type TopicProbe[T any] struct {
	test  *Test
	topic wherry.TopicOf[T]
	group string
	reads string // the consumer whose readers it asks for
}

// Counts are what became of a topic's messages. The zero Counts is a topic to which nothing was published.
type Counts struct {
	// Published messages, confirmed by the broker. A message to several groups is one.
	Published int
	// Handled messages, each once for every queue, group and reader: they ended, not dropped, and no copy went anywhere.
	Handled int
	// Retried counts failed attempts that another followed.
	Retried int
	// Deferred counts outcomes that put a message off.
	Deferred int
	// Dead messages, each once for every queue and group.
	Dead int
	// Dropped messages, each once for every queue, group and reader: they were given up by a consumer without dead letters,
	// as one of a broadcast is.
	Dropped int
}

// Probe returns the probe of a topic in t. It opens nothing and may be called at any time, also after the fact: the books
// of t have every topic from the beginning. A nil topic fails the test.
func Probe[T any](t *Test, topic wherry.TopicOf[T]) *TopicProbe[T] {
	if topic == nil {
		t.tb.Helper()
		t.tb.Fatalf("wherrytest: the topic is nil")
	}
	return &TopicProbe[T]{test: t, topic: topic}
}

// Group returns a probe of one group of a fan-out. What was published counts for every group.
func (p *TopicProbe[T]) Group(name string) *TopicProbe[T] {
	return &TopicProbe[T]{test: p.test, topic: p.topic, group: name}
}

// Reader returns a probe of what one consumer of a broadcast reads, by the consumer's name: that of wherry.Name, else the
// topic's. Consumers of one name are one here. What was published counts for every reader.
func (p *TopicProbe[T]) Reader(consumer string) *TopicProbe[T] {
	return &TopicProbe[T]{test: p.test, topic: p.topic, reads: consumer}
}

// Publish publishes values one after another. It fails the test at the first that the broker does not confirm.
func (p *TopicProbe[T]) Publish(values ...T) {
	p.test.tb.Helper()
	p.publish(values, nil)
}

// PublishWith publishes a value with options: a key, headers, an id, a delay.
func (p *TopicProbe[T]) PublishWith(value T, opts ...wherry.MessageOption) {
	p.test.tb.Helper()
	p.publish([]T{value}, opts)
}

func (p *TopicProbe[T]) publish(values []T, opts []wherry.MessageOption) {
	t := p.test
	t.tb.Helper()
	ctx := t.tb.Context()
	pub, err := wherry.NewPublisher(ctx, t.broker, p.topic)
	if err != nil {
		t.tb.Fatalf("wherrytest: %v", err)
	}
	for i := range values {
		if err = pub.Publish(ctx, &values[i], opts...); err != nil {
			err = fmt.Errorf("value %d of %d: %w", i+1, len(values), err)
			break
		}
	}
	if err := errors.Join(err, pub.Close(t.context())); err != nil {
		t.tb.Fatalf("wherrytest: %v", err)
	}
}

func (p *TopicProbe[T]) place() place {
	return place{topic: p.topic.Name(), group: p.group, reader: p.reads}
}

// Counts returns what has become of the topic's messages so far. After [Test.Quiesce] that is final until more is
// published.
func (p *TopicProbe[T]) Counts() Counts {
	l := p.test.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.countLocked(p.place())
}

func (l *ledger) countLocked(p place) Counts {
	var c Counts
	of := [...]*int{
		stepTold: new(int), stepSending: new(int), stepPublished: &c.Published, stepHandled: &c.Handled, stepRetried: &c.Retried,
		stepDeferred: &c.Deferred, stepDead: &c.Dead, stepDropped: &c.Dropped,
	}
	for _, one := range l.stories.order {
		for i := range one.steps {
			if s := &one.steps[i]; s.concerns(p) {
				*of[s.kind]++
			}
		}
	}
	return c
}
