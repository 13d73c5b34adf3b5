package wherry

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A MessageOption sets something of one published message. It is made by the With functions; the zero MessageOption does
// nothing.
type MessageOption struct {
	kind  messageOptionKind
	name  string
	value string
	bytes []byte
	delay time.Duration
	of    *driver.Delivery
}

type messageOptionKind uint8

const (
	noMessageOption messageOptionKind = iota
	headerOption
	keyOption
	idOption
	delayOption
	originalOption
)

// WithHeader adds a header. Repeated keys are kept in order. A key must not be empty, hold control characters or begin
// with "wherry-"; the value may be any valid UTF-8.
func WithHeader(key, value string) MessageOption {
	return MessageOption{kind: headerOption, name: key, value: value}
}

// WithKey sets the message's key in place of the one that the topic's key function makes. The bytes are copied.
func WithKey(key []byte) MessageOption { return MessageOption{kind: keyOption, bytes: key} }

// WithID sets the message's id, which is otherwise made. It must not be empty or longer than 256 bytes. Publishing again
// after [ErrUnconfirmed] should use the id of the first try.
func WithID(id string) MessageOption { return MessageOption{kind: idOption, name: id} }

// WithDelay makes the message visible d from now, never earlier. Zero and less is at once.
func WithDelay(d time.Duration) MessageOption { return MessageOption{kind: delayOption, delay: d} }

// WithOriginal makes the message the same as m, wherever it is published: its id, its key, its headers, and when it was first
// published are those of m, and so is its content type where its body has the same bytes. What m does not have, as a foreign message
// may have no id, is as without the option. Options that come after it add headers and replace the rest. m is read by Publish, and
// not kept; nil is an error. It is for bridges and for what passes messages on. [Publisher.PublishAll] refuses it as it refuses
// [WithID]; [Publisher.PublishEach] takes both.
func WithOriginal(m AnyMessage) MessageOption {
	o := MessageOption{kind: originalOption}
	if m != nil {
		o.of = m.sealedMessage()
	}
	return o
}

const maxIDLength = 256

// apply sets the option in e.
func (o *MessageOption) apply(e *encoding) error {
	switch o.kind {
	case noMessageOption:
	case headerOption:
		if err := checkHeader(o.name, o.value); err != nil {
			return err
		}
		e.headers = append(e.headers, driver.Header{Key: o.name, Value: o.value})
	case keyOption:
		e.key = append(e.key[:0], o.bytes...)
	case idOption:
		if o.name == "" || len(o.name) > maxIDLength {
			return fmt.Errorf("id of %d bytes, want 1 to %d", len(o.name), maxIDLength)
		}
		e.id = driver.ID{Text: o.name}
	case delayOption:
		e.delay = max(o.delay, 0)
	case originalOption:
		return e.copyOf(o.of)
	}
	return nil
}

// copyOf gives e what belongs to a message that came in.
func (e *encoding) copyOf(d *driver.Delivery) error {
	if d == nil {
		return errors.New("the original is nil")
	}
	for _, h := range d.Headers {
		if err := checkHeader(h.Key, h.Value); err != nil {
			return err
		}
	}
	if id := d.ID.String(); len(id) > maxIDLength {
		return fmt.Errorf("id of %d bytes, want at most %d", len(id), maxIDLength)
	} else if id != "" {
		e.id = driver.ID{Text: id}
	}
	if len(d.Key) > 0 {
		e.key = append(e.key[:0], d.Key...)
	}
	e.headers = append(e.headers, d.Headers...)
	e.of = d
	return nil
}

// keepOf is what of the original depends on the body.
func (e *encoding) keepOf() {
	r := &e.rec[0]
	if e.of.ContentType != "" && bytes.Equal(r.Body, e.of.Body) {
		r.ContentType = e.of.ContentType
	}
	if p := e.of.Control.Published; p != 0 {
		r.Control.Published = p
	}
	e.of = nil // which is not the encoding's to keep
}

// checkHeader says what is wrong with a user's header.
func checkHeader(key, value string) error {
	if key == "" {
		return errors.New("a header's key is empty")
	}
	if len(key) >= len(driver.ReservedPrefix) && strings.EqualFold(key[:len(driver.ReservedPrefix)], driver.ReservedPrefix) {
		return fmt.Errorf("header %q: the prefix %q is reserved", key, driver.ReservedPrefix)
	}
	for i := range len(key) {
		if c := key[i]; c < ' ' || c == 0x7f {
			return fmt.Errorf("header %q: the key holds a control character", key)
		}
	}
	if !validUTF8(key) || !validUTF8(value) {
		return fmt.Errorf("header %q: not valid UTF-8", key)
	}
	return nil
}
