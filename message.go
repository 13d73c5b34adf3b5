package wherry

import (
	"iter"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A Message is what a handler sees. One Message serves every message of a lane: it, its key, headers and body are valid
// until the handler returns and belong to the engine. Value may be kept as a copy, unless the topic's codec says that its
// values are views; for the rest there is Clone.
type Message[T any] struct {
	// Value is the decoded body. It is zeroed before each decode, unless the codec reuses it.
	Value T
	message
	codec Codec[T]
}

// Clone returns a copy that may be kept and shared. Key, headers, body and, where the codec's values are views, the value
// are copied. A value that holds pointers is copied as Go copies it. A view is copied by decoding the body again; a codec that
// refuses it the second time leaves the zero value.
func (m *Message[T]) Clone() *Message[T] {
	of := m.d
	d := driver.Delivery{ // without its Slot, which the engine may be writing
		Delivered: of.Delivered, ID: of.ID, ContentType: of.ContentType, Control: of.Control, Topic: of.Topic,
		Key: slices.Clone(of.Key), Body: slices.Clone(of.Body), Headers: slices.Clone(of.Headers),
	}
	c := &Message[T]{Value: m.Value, codec: m.codec, message: message{d: &d, consumer: m.consumer}}
	if codecReuses(m.codec) {
		var fresh T
		dec := decoderOf(m.codec)
		if dec.decode(&d, &fresh) != nil {
			var zero T
			fresh = zero
		}
		c.Value = fresh
	}
	return c
}

// AnyMessage is a [Message] of any type, as middleware sees it. Only messages of this package implement it.
type AnyMessage interface { //nolint:interfacebloat // It is sealed: nobody else has to implement it.
	// ID is the message's id for its whole life, copies included; empty for a foreign message without one. It formats
	// the id and may allocate.
	ID() string
	// Topic is the name of the topic it came from.
	Topic() string
	// Group is the group that it was received for; empty in a queue.
	Group() string
	// Key is the message's key, nil where it has none. It is read-only and valid until the handler returns.
	Key() []byte
	// Headers are the user's headers, valid until the handler returns.
	Headers() Headers
	// Body is the encoded value, read-only and valid until the handler returns.
	Body() []byte
	// ContentType is what the publisher's codec said; empty for a foreign message that says nothing.
	ContentType() string
	// Attempt is 1 + the handler calls of this message that ended in failure.
	Attempt() int
	// Delivered is the broker's own count of deliveries, 0 where the broker does not tell.
	Delivered() int
	// Published is when the message was first published, by the publisher's clock; zero for a foreign message.
	Published() time.Time
	// Consumer is the consumer that handles it.
	Consumer() *Consumer
	// Reader names the reader of a broadcast that it came to: no other consumer, run or process has one of that name. It is
	// empty for messages that go to one of several consumers.
	Reader() string

	sealedMessage() *driver.Delivery
}

// message is the part of a message that does not depend on its type.
type message struct {
	d        *driver.Delivery
	consumer *Consumer
}

// ID returns the message's id for its whole life, copies included; empty for a foreign message without one. It formats
// the id and may allocate.
func (m *message) ID() string { return m.d.ID.String() }

// Topic returns the name of the topic the message came from.
func (m *message) Topic() string { return m.d.Topic }

// Group returns the group that the message was received for; empty in a queue.
func (m *message) Group() string {
	if m.consumer == nil {
		return ""
	}
	return m.consumer.source.group
}

// Key returns the message's key, nil where it has none. It is read-only and valid until the handler returns.
func (m *message) Key() []byte { return m.d.Key }

// Headers returns the user's headers, valid until the handler returns.
func (m *message) Headers() Headers { return Headers{pairs: m.d.Headers} }

// Body returns the encoded value, read-only and valid until the handler returns.
func (m *message) Body() []byte { return m.d.Body }

// ContentType returns what the publisher's codec said; empty for a foreign message that says nothing.
func (m *message) ContentType() string { return m.d.ContentType }

// Attempt returns 1 + the handler calls of this message that ended in failure.
func (m *message) Attempt() int { return attemptOf(m.d) }

// Delivered returns the broker's own count of deliveries, 0 where the broker does not tell.
func (m *message) Delivered() int { return m.d.Delivered }

// Published returns when the message was first published, by the publisher's clock, which may be 2 ms off; zero for a
// foreign message.
func (m *message) Published() time.Time { return m.d.Control.Published.Time() }

// Consumer returns the consumer that handles the message.
func (m *message) Consumer() *Consumer { return m.consumer }

// Reader names the reader of a broadcast that the message came to: no other consumer, run or process has one of that name. It is
// empty for messages that go to one of several consumers.
func (m *message) Reader() string {
	c := m.consumer
	if c == nil || c.source.manner != broadcasting {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reader
}

func (m *message) sealedMessage() *driver.Delivery { return m.d }

// attemptOf reads the attempt of a delivery; a foreign one is at its first.
func attemptOf(d *driver.Delivery) int { return max(d.Control.Attempt, 1) }

// Header is one header of a message. Keys are not empty, hold no control characters and do not begin with "wherry-".
type Header = driver.Header

// Headers are a message's headers in the order they were given. The zero Headers is empty.
type Headers struct{ pairs []Header }

// Get returns the first value of key, "" where there is none. Keys are compared as they are.
func (h Headers) Get(key string) string {
	v, _ := h.Lookup(key)
	return v
}

// Lookup returns the first value of key and whether there is one.
func (h Headers) Lookup(key string) (string, bool) {
	for i := range h.pairs {
		if h.pairs[i].Key == key {
			return h.pairs[i].Value, true
		}
	}
	return "", false
}

// Len returns the number of headers, repeated keys counted.
func (h Headers) Len() int { return len(h.pairs) }

// All returns an iterator over all headers in order. It may be used again.
func (h Headers) All() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for i := range h.pairs {
			if !yield(h.pairs[i].Key, h.pairs[i].Value) {
				return
			}
		}
	}
}
