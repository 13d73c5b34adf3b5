package wherry

import (
	"time"

	"github.com/wherryhq/wherry/driver"
)

// Broadcast is a source whose every message goes to this process, whatever other readers and groups do: each worker of each
// consumer is a reader of its own, so that one worker is what is wanted. It begins with what is published after the consumer
// was opened, or where [FromHead] or [FromTime] say. The topic must be a fan-out.
//
// A broadcast has no dead letters: a message that fails is tried again by the retry policy, in this process and in memory,
// and is then dropped, with the event [Dropped]. What is published while no reader runs is not seen. A reader that is too slow
// holds up nobody, and may lose what it did not come to, where its broker says so.
func Broadcast[T any](b driver.Broadcaster, t TopicOf[T], opts ...BroadcastOption) Source[T] {
	s := newSource(t, nil)
	s.spec.manner, s.spec.sequence = broadcasting, defaultSequence()
	for _, o := range opts {
		if o == nil {
			s.spec.failf("a broadcast option is nil")
			continue
		}
		o.applyBroadcast(s.spec)
	}
	if isNil(b) {
		s.spec.failf("the broker is nil")
		return s
	}
	s.spec.broker, s.spec.open = b, b.OpenBroadcast
	if !s.topic.fanout {
		s.spec.failf("the topic is a queue: declare it with Fanout")
	}
	return s
}

type broadcastOption func(*sourceSpec)

func (o broadcastOption) applyBroadcast(s *sourceSpec) { o(s) }

// FromHead begins a broadcast with the oldest message that the broker still has. A broker that keeps no history refuses it at
// start.
func FromHead() BroadcastOption {
	return broadcastOption(func(s *sourceSpec) {
		if !s.from.Time.IsZero() {
			s.failf("both FromHead and FromTime: only one can be meant")
		}
		s.from.Head = true
	})
}

// FromTime begins a broadcast with the first message that was published at t or later, as exactly as the broker keeps times. t may
// lie ahead, where the broker can begin there. A broker that keeps no history refuses it at start.
func FromTime(t time.Time) BroadcastOption {
	return broadcastOption(func(s *sourceSpec) {
		if s.from.Head {
			s.failf("both FromHead and FromTime: only one can be meant")
		}
		if t.IsZero() {
			s.failf("the time to begin at is zero")
		}
		s.from.Time = t
	})
}
