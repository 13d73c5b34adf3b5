package wherry

import (
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// Sequence is a source whose messages reach the handler one at a time for each key, in the order in which they were published.
// Keys are handled beside each other, as many as the consumer's [Concurrency] allows, and none waits for another but at a
// hand-over. The topic must not be a fan-out.
//
// A message that fails is tried again by the retry policy while the later ones of its key wait. It stays with its consumer
// meanwhile and holds no lane, so that all other keys go on. What is done once its attempts are used up is [OnFailure]'s.
// Attempts are counted in memory: after a crash, or when the key went to another consumer, they begin anew.
//
// Order holds through retries, pauses, restarts and the hand-over of a key between consumers. A worker that stops, or that scaling
// removes, hands over all that it has together, when the last of its handlers has returned: its keys wait until then. What was
// handled and not yet settled when a process dies is handled again, in order. A message whose key is empty is in order with no other.
func Sequence[T any](b driver.Sequencer, t KeyedTopic[T], opts ...SequenceOption) Source[T] {
	s := newSequence(t, opts)
	if isNil(b) {
		s.spec.failf("the broker is nil")
		return s
	}
	s.spec.broker, s.spec.open = b, b.OpenSequence
	if s.topic.fanout {
		s.spec.failf("the topic is a fan-out: consume it with GroupSequence")
	}
	return s
}

// GroupSequence is to [Group] what [Sequence] is to [Queue]: each group of a fan-out sees the messages of a key in order,
// one at a time in the whole group.
func GroupSequence[T any](b driver.GroupSequencer, g string, t KeyedTopic[T], opts ...SequenceOption) Source[T] {
	s := newSequence(t, opts)
	s.spec.group = g
	if err := checkName(g); err != nil {
		s.spec.failf("group: %w", err)
	}
	if isNil(b) {
		s.spec.failf("the broker is nil")
		return s
	}
	s.spec.broker, s.spec.open = b, b.OpenGroupSequence
	if !s.topic.fanout {
		s.spec.failf("the topic is a queue: consume it with Sequence, or declare it with Fanout")
	}
	return s
}

func newSequence[T any](t KeyedTopic[T], opts []SequenceOption) Source[T] {
	s := newSource[T](t, nil)
	s.spec.manner = sequenced
	s.spec.sequence = defaultSequence()
	for _, o := range opts {
		if o == nil {
			s.spec.failf("a sequence option is nil")
			continue
		}
		o.applySequence(s.spec)
	}
	return s
}

const (
	defaultPerKey       = 256
	defaultWaiting      = 4096
	defaultWaitingBytes = 16 << 20
	sequencePrefetch    = 1024
)

// sequenceSpec is what options of a sequence set.
type sequenceSpec struct {
	onFailure FailurePolicy
	perKey    int
	total     int
	bytes     int
	shards    int
}

func defaultSequence() sequenceSpec {
	return sequenceSpec{perKey: defaultPerKey, total: defaultWaiting, bytes: defaultWaitingBytes}
}

type sequenceOption func(*sourceSpec)

func (o sequenceOption) applySequence(s *sourceSpec) { o(s) }

// A FailurePolicy says what a sequence does with a message that failed as often as its retry policy allows, or was rejected,
// and with the later ones of its key. Under each the key waits while the message is tried again.
type FailurePolicy uint8

const (
	// Skip sends the message to the dead letters and goes on with its key, and is the zero value. Nothing is lost, the key is
	// late by the retries of one message, and the handler sees the later ones without it: they must make sense alone.
	Skip FailurePolicy = iota
	// Block tries the message again with the last delay of its retry policy until it succeeds. Nothing is lost or out of order,
	// and the key stands still for as long as the fault lasts: when its later messages have used up what may wait (see
	// [WaitingAtMost]) the worker takes no more, for any key. A rejected message, one whose body cannot be decoded too, goes to
	// the dead letters as under Skip, since trying again cannot mend it.
	Block
	// FailAll sends the message and every later one of its key to the dead letters, the later ones unseen. Nothing is lost, the
	// handler never sees a message whose predecessor failed, and the key is dead until its consumer runs anew: what was set
	// aside is known in memory only, by the consumer that set it aside. Redriven messages share that fate. Another consumer of
	// the source does not know it, and handles what comes to it of the key: where a key may go from one consumer to another,
	// in one process or in several, run one.
	FailAll
	// Park sets the message and every later one of its key aside in the dead letters, in order, and lets the key go on when a
	// [Redrive] has brought all of them back, in order too. Nothing is lost or out of order, and the key is late until somebody
	// redrives. Which keys are parked is known in memory only, by the consumer that parked them: after a restart the key goes on
	// with what comes, so redrive before. Another consumer of the source does not know it either. It handles what comes to it of
	// the key, and what is redriven to it does not free the key where it is parked: where a key may go from one consumer to
	// another, in one process or in several, run one. [Health] counts the keys.
	Park
)

// String returns "skip", "block", "fail all" or "park".
func (p FailurePolicy) String() string {
	switch p {
	case Skip:
		return "skip"
	case Block:
		return "block"
	case FailAll:
		return "fail all"
	case Park:
		return "park"
	default:
		return fmt.Sprintf("FailurePolicy(%d)", uint8(p))
	}
}

// OnFailure says what becomes of a message that failed for good, and of its key. Default [Skip].
func OnFailure(p FailurePolicy) SequenceOption {
	return sequenceOption(func(s *sourceSpec) {
		if p > Park {
			s.failf("the failure policy is %v, want Skip, Block, FailAll or Park", p)
		}
		s.sequence.onFailure = p
	})
}

// WaitingAtMost bounds what waits in memory for its key: messages of one key, of all, and the bytes of all, in each worker.
// Default 256, 4,096 and 16 MiB. Past them the worker receives no more until less waits, and its [Health] names the key. Under
// [FailAll] and [Park] a key whose first message has failed is not waited for: it is set aside at once.
func WaitingAtMost(perKey, all, bytes int) SequenceOption {
	return sequenceOption(func(s *sourceSpec) {
		for _, c := range []struct {
			what string
			n    int
		}{{"messages of a key", perKey}, {"messages", all}, {"bytes", bytes}} {
			if c.n < 1 {
				s.failf("at most %d %s may wait, want at least 1", c.n, c.what)
			}
		}
		s.sequence.perKey, s.sequence.total, s.sequence.bytes = perKey, all, bytes
	})
}

// Shards is the number of shards of a sequence on a broker that needs them, and nothing on others. All consumers of the
// topic must agree on it. Default is the broker's, 8 where it names none.
func Shards(n int) SequenceOption {
	return sequenceOption(func(s *sourceSpec) {
		if n < 1 {
			s.failf("shards is %d, want at least 1", n)
		}
		s.sequence.shards = n
	})
}
