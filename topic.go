package wherry

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/driver"
)

// A Topic is the declaration of a stream of messages of type T: made once, with [NewTopic], and used by its publishers
// and consumers. It is a small value to copy and share. By default it is a queue, each message of which goes to one
// consumer; [Fanout] makes it one whose every message goes to each group. The zero Topic is refused where it is used.
type Topic[T any] struct{ spec *topicSpec[T] }

// A KeyedTopic is a [Topic] whose messages have a key, made from the value. The zero KeyedTopic is refused where it is
// used.
type KeyedTopic[T any] struct{ spec *topicSpec[T] }

// TopicOf is a [Topic] or a [KeyedTopic].
type TopicOf[T any] interface {
	// Name returns the topic's name.
	Name() string
	topicOf() *topicSpec[T]
}

// NewTopic declares a topic. Nothing is connected or checked here; what is wrong with the name or the options is reported
// by whatever uses the topic first.
func NewTopic[T any](name string, c Codec[T], opts ...TopicOption) Topic[T] {
	return Topic[T]{spec: newTopicSpec(name, c, nil, opts)}
}

// NewKeyedTopic declares a topic with keys. key appends the key of v to dst and returns the extended slice; it must not
// keep dst, is called by many goroutines, and more than once for a message that the broker does not take at once.
func NewKeyedTopic[T any](name string, c Codec[T], key func(dst []byte, v *T) []byte, opts ...TopicOption) KeyedTopic[T] {
	s := newTopicSpec(name, c, key, opts)
	s.keyed = true
	if key == nil {
		s.failf("a keyed topic needs a key function")
	}
	return KeyedTopic[T]{spec: s}
}

// Name returns the topic's name, empty for the zero Topic.
func (t Topic[T]) Name() string { return nameOf(t.spec) }

// Name returns the topic's name, empty for the zero KeyedTopic.
func (t KeyedTopic[T]) Name() string { return nameOf(t.spec) }

func (t Topic[T]) topicOf() *topicSpec[T]      { return t.spec }
func (t KeyedTopic[T]) topicOf() *topicSpec[T] { return t.spec }

func nameOf[T any](s *topicSpec[T]) string {
	if s == nil {
		return ""
	}
	return s.name
}

// topicSpec is a topic's declaration. It does not change after construction.
type topicSpec[T any] struct {
	topicCore
	codec Codec[T]
	key   func(dst []byte, v *T) []byte
	// copies is whether a message is nothing but the bytes of its value.
	copies bool
}

// topicCore is the part that does not depend on the type.
type topicCore struct {
	name        string
	contentType string
	keyed       bool
	fanout      bool
	groups      []string
	role        driver.Role
	settings    settings
	errs        []error
}

func newTopicSpec[T any](name string, c Codec[T], key func([]byte, *T) []byte, opts []TopicOption) *topicSpec[T] {
	s := &topicSpec[T]{codec: c, key: key}
	s.name = name
	if c == nil {
		s.failf("the codec is nil")
	} else {
		s.contentType = c.ContentType()
		s.copies = key == nil && codecCopies(c)
	}
	if err := checkName(name); err != nil {
		s.failf("name: %w", err)
	}
	for _, o := range opts {
		if o == nil {
			s.failf("an option is nil")
			continue
		}
		o.applyTopic(&s.topicCore)
	}
	return s
}

func (t *topicCore) failf(format string, args ...any) {
	t.errs = append(t.errs, fmt.Errorf(format, args...))
}

// err is everything that is wrong with the declaration.
func (t *topicCore) err() error { return errors.Join(append(t.errs, t.settings.errs...)...) }

// driver is the declaration as a broker sees it.
func (t *topicCore) driver() driver.Topic {
	return driver.Topic{Name: t.name, Role: t.role, Fanout: t.fanout, Groups: t.groups, Keyed: t.keyed}
}

const maxName = 200

// checkName says what is wrong with a topic's or group's name. What is allowed is what every broker can carry, itself or
// by a stated mapping.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("it is empty")
	case len(name) > maxName:
		return fmt.Errorf("%d bytes, want at most %d", len(name), maxName)
	case name[0] == '.' || name[len(name)-1] == '.' || strings.Contains(name, ".."):
		return fmt.Errorf("%q: dots stand between other characters, one at a time", name)
	}
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && r != '.' && r != '-' && r != '_' {
			return fmt.Errorf("%q: %q is not allowed, only letters, digits, dots, hyphens and underscores", name, r)
		}
	}
	return nil
}

// Fanout makes a topic whose every message goes to each group and each broadcast reader. The groups that are named here
// exist with the topic, so that what is published before a group's first consumer is kept for it; others may join later
// and see what comes from then on.
func Fanout(groups ...string) TopicOption {
	return topicOption(func(t *topicCore) {
		t.fanout = true
		for _, g := range groups {
			if err := checkName(g); err != nil {
				t.failf("group: %w", err)
			}
			if slices.Contains(t.groups, g) {
				t.failf("group %q is named twice", g)
			}
			t.groups = append(t.groups, g)
		}
	})
}
