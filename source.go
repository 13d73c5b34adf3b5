package wherry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/driver"
)

// A Source is where the messages of a consumer come from: a topic on a broker, in one of the broker's manners. It is made
// by [Queue], [Group], [Sequence], [GroupSequence], [Broadcast], [Transacted] or [GroupTransacted] and opened by what consumes it. The zero Source is refused at start.
type Source[T any] struct {
	spec  *sourceSpec
	topic *topicSpec[T]
}

// sourceSpec is the part that does not depend on the type.
type sourceSpec struct {
	broker   driver.Broker
	open     func(ctx context.Context, s driver.Source) (driver.Receiver, error)
	topic    *topicCore
	group    string
	topology driver.Topology
	manner   manner
	sequence sequenceSpec    // of a sequence
	from     driver.Position // of a broadcast
	tx       txSpec          // of transactions
	errs     []error
}

// A manner is how the messages of a source are shared.
type manner uint8

const (
	competing    = manner(driver.Competing)    // each goes to one consumer, and a retry is a copy that any of them may get
	sequenced    = manner(driver.Sequenced)    // in order by key
	broadcasting = manner(driver.Broadcasting) // each goes to every reader
	transacted   = manner(driver.Transacted)   // as competing, settled with what is published in one act
)

// keeps tells that what fails stays with its consumer until it is done.
func (m manner) keeps() bool { return m == sequenced || m == broadcasting }

func (s *sourceSpec) failf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// driver is the source as a broker sees it.
func (s *sourceSpec) driver(name string, prefetch int) driver.Source {
	return driver.Source{
		Topics: []driver.Topic{s.topic.driver()}, Group: s.group, Prefetch: prefetch, Topology: s.topology, Name: name,
		From: s.from, Shards: s.sequence.shards, Manner: driver.Manner(s.manner),
	}
}

// Queue is a source whose every message goes to one of its consumers. The topic must not be a fan-out.
func Queue[T any](b driver.Queuer, t TopicOf[T], opts ...SourceOption) Source[T] {
	s := newSource(t, opts)
	if isNil(b) {
		s.spec.failf("the broker is nil")
		return s
	}
	s.spec.broker, s.spec.open = b, b.OpenQueue
	if s.topic.fanout {
		s.spec.failf("the topic is a fan-out: consume it with Group")
	}
	return s
}

// Group is a source whose every message goes to one member of the group g, whatever other groups do. The topic must be a
// fan-out. A group that [Fanout] does not name, a misspelt one too, joins with its first consumer and sees what is published
// from then on; where Fanout names others, [Started] and [Explain] say so.
func Group[T any](b driver.Grouper, g string, t TopicOf[T], opts ...SourceOption) Source[T] {
	s := newSource(t, opts)
	s.spec.group = g
	if err := checkName(g); err != nil {
		s.spec.failf("group: %w", err)
	}
	if isNil(b) {
		s.spec.failf("the broker is nil")
		return s
	}
	s.spec.broker, s.spec.open = b, b.OpenGroup
	if !s.topic.fanout {
		s.spec.failf("the topic is a queue: consume it with Queue, or declare it with Fanout")
	}
	return s
}

// unnamed says that the group is none of those that its topic names, which may be a misspelt one; empty where nothing is to be
// said, as where the topic names none.
func (s *sourceSpec) unnamed() string {
	named := s.topic.groups
	if s.group == "" || len(named) == 0 || slices.Contains(named, s.group) {
		return ""
	}
	return fmt.Sprintf("Fanout does not name group %s, it names %s: the group exists since its first consumer, and sees nothing from before.",
		s.group, strings.Join(named, ", "))
}

func newSource[T any](t TopicOf[T], opts []SourceOption) Source[T] {
	s := Source[T]{spec: &sourceSpec{}}
	if t != nil {
		s.topic = t.topicOf()
	}
	if s.topic == nil {
		s.topic = &topicSpec[T]{}
		s.topic.failf("the topic is the zero value; make one with NewTopic")
	}
	s.spec.topic = &s.topic.topicCore
	for _, o := range opts {
		if o == nil {
			s.spec.failf("a source option is nil")
			continue
		}
		o.applySource(s.spec)
	}
	return s
}

// err is everything that is wrong with the source and its topic.
func (s *sourceSpec) err() error {
	return errors.Join(s.topic.err(), errors.Join(s.errs...))
}

// isNil reports a nil interface, and one that holds a nil pointer, as after a failed dial whose error was not looked at. It is for
// declarations, which are made once.
func isNil(b driver.Broker) bool {
	if b == nil {
		return true
	}
	v := reflect.ValueOf(b)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Verify creates nothing at the broker: what is missing or differs is an error at start.
func Verify() EndpointOption { return topologyOption(driver.Verify) }

type topologyOption driver.Topology

func (o topologyOption) applyPublish(p *publishSpec)   { p.topology = driver.Topology(o) }
func (o topologyOption) applyTxPublish(p *publishSpec) { p.topology = driver.Topology(o) }
func (o topologyOption) applySource(s *sourceSpec)     { s.topology = driver.Topology(o) }
func (o topologyOption) applySequence(s *sourceSpec)   { s.topology = driver.Topology(o) }
func (o topologyOption) applyBroadcast(s *sourceSpec)  { s.topology = driver.Topology(o) }
func (o topologyOption) applyTx(s *sourceSpec)         { s.topology = driver.Topology(o) }
func (o topologyOption) applyRedrive(r *redriveSpec)   { r.topology = driver.Topology(o) }

// Need returns b as the ability A, for a broker that was chosen at run time. Its error names broker and ability and
// matches [errors.ErrUnsupported].
//
//	g, err := wherry.Need[driver.Grouper](b)
func Need[A driver.Broker](b driver.Broker) (A, error) {
	a, ok := b.(A)
	if !ok {
		var none A
		return none, fmt.Errorf("wherry: %T is not a %s: %w", b, reflect.TypeFor[A](), errors.ErrUnsupported)
	}
	return a, nil
}
