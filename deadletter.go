package wherry

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const deadLetterSuffix = ".dlq"

// deadLetterName is the default name of a topic's dead letters, or of one group's.
func deadLetterName(topic, group string) string {
	if group != "" {
		return topic + "." + group + deadLetterSuffix
	}
	return topic + deadLetterSuffix
}

// A DeadLetter is a message that was given up, with what is known of it. Its id, key, headers and body are those of the
// original, byte for byte; see [Message]. It always decodes: where the original's body does not, Err says why and Value is
// zero.
type DeadLetter[T any] struct {
	Value T
	Err   error // why Value could not be decoded; nil when it could
	DeadLetterInfo
}

// DeadLetterInfo is what is known of a message that was given up. It is zero for a foreign record in a dead-letter topic.
type DeadLetterInfo struct {
	Reason     Reason
	Topic      string // where it failed
	Group      string // the group that failed it; empty in a queue
	FirstError string // texts, cut at 1 KiB
	LastError  string
	FirstAt    time.Time
	LastAt     time.Time
	Attempts   int // handler calls that failed
	Delivered  int // the broker's count at the time, 0 where it does not count
}

// DeadLetters is the topic of the dead letters of the queue t, itself a queue to be consumed like any other. What fails
// there goes to dead letters of its own. The groups of a fan-out have topics of their own: see [GroupDeadLetters].
// Those that share one topic, by [DeadLetterTo], have it here too. Of the zero Topic it is the zero Topic.
func DeadLetters[T any](t TopicOf[T]) Topic[DeadLetter[T]] {
	out := deadLetters(t, "")
	if out.spec != nil && t.topicOf().fanout && t.topicOf().settings.deadLetterTo == "" {
		out.spec.failf("%q is a fan-out, whose groups have dead letters each: name one with GroupDeadLetters", t.Name())
	}
	return out
}

// GroupDeadLetters is the topic of what the group g gave up of the fan-out t, to be consumed with [Queue]. That there is
// such a group is not checked. Of the zero Topic it is the zero Topic.
func GroupDeadLetters[T any](t TopicOf[T], g string) Topic[DeadLetter[T]] {
	out := deadLetters(t, g)
	if out.spec == nil {
		return out
	}
	if err := checkName(g); err != nil {
		out.spec.failf("group: %w", err)
	}
	if !t.topicOf().fanout {
		out.spec.failf("%q is a queue and has no groups: its dead letters are DeadLetters", t.Name())
	}
	return out
}

func deadLetters[T any](t TopicOf[T], group string) Topic[DeadLetter[T]] {
	if t == nil || t.topicOf() == nil {
		return Topic[DeadLetter[T]]{}
	}
	base := t.topicOf()
	name := base.settings.deadLetterTo
	if name == "" {
		name = deadLetterName(base.name, group)
	}
	s := &topicSpec[DeadLetter[T]]{codec: deadLetterCodec[T]{inner: base.codec, decode: bindDecode(base.codec)}}
	s.name, s.contentType, s.role = name, base.contentType, driver.DeadLetter
	s.errs = append(s.errs, base.err())
	// What was too large for its consumer is here, and to be looked at.
	s.settings.bodyLimit, s.settings.headerLimit = math.MaxInt, math.MaxInt
	return Topic[DeadLetter[T]]{spec: s}
}

// deadLetterCodec reads what a delivery says of its failures beside the body.
type deadLetterCodec[T any] struct {
	inner  Codec[T]
	decode func(d *driver.Delivery, v *T) error
}

func (c deadLetterCodec[T]) Append(dst []byte, v *DeadLetter[T]) ([]byte, error) {
	return c.inner.Append(dst, &v.Value)
}

func (c deadLetterCodec[T]) Decode(src []byte, v *DeadLetter[T]) error {
	return c.decodeDelivery(&driver.Delivery{Body: src}, v)
}

func (c deadLetterCodec[T]) ContentType() string { return c.inner.ContentType() }

func (c deadLetterCodec[T]) Reuses() bool { return codecReuses(c.inner) }

//nolint:unparam // It implements deliveryDecoder, and a dead letter always decodes.
func (c deadLetterCodec[T]) decodeDelivery(d *driver.Delivery, v *DeadLetter[T]) error {
	v.DeadLetterInfo = deadLetterInfo(d)
	if v.Reason == ReasonTooLarge {
		v.Err = fmt.Errorf("%w to be decoded: %s", ErrTooLarge, v.LastError)
	} else {
		v.Err = c.decode(d, &v.Value)
	}
	if v.Err != nil {
		var zero T
		v.Value = zero
		v.Err = &DecodeError{ContentType: d.ContentType, Size: len(d.Body), Err: v.Err}
	}
	return nil
}

func deadLetterInfo(d *driver.Delivery) DeadLetterInfo {
	f := d.Control.Failure
	if f == nil {
		return DeadLetterInfo{}
	}
	return DeadLetterInfo{
		Reason: Reason(f.Reason), Topic: f.Topic, Group: f.Group, FirstError: f.First, LastError: f.Last,
		FirstAt: f.FirstAt.Time(), LastAt: f.LastAt.Time(), Attempts: f.Attempts, Delivered: f.Delivered,
	}
}

// circle refuses a consumer whose dead letters would come back to it, from one consumer of the fleet to the next: each gives up
// what it gets, and counts anew.
func (f *fleet) circle(c *Consumer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	way := []string{c.source.topic.name}
	var back func(topic string) bool
	back = func(topic string) bool {
		if slices.Contains(way, topic) {
			return topic == way[0]
		}
		way = append(way, topic)
		for r := range f.members {
			if of := r.c; of.source.topic.name == topic && back(of.deadLetterTopic()) {
				return true
			}
		}
		way = way[:len(way)-1]
		return false
	}
	if !back(c.deadLetterTopic()) {
		return nil
	}
	return fmt.Errorf("its dead letters would come back to it: those of %s go back to %s: name another topic, or none (NoDeadLetters)",
		strings.Join(way, " go to "), way[0])
}
