package wherry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// Redriven says what a [Redrive] did.
type Redriven struct {
	Moved  int // back at their origin, confirmed
	Passed int // looked at and left in the dead letters
}

// RedriveOption fits [Redrive] and [PeekDeadLetters].
type RedriveOption interface{ applyRedrive(s *redriveSpec) }

type redriveSpec struct {
	group   string
	limit   int // 0 is none
	rate    int // a second; 0 is none
	reasons map[Reason]bool
	filters []func(DeadLetterInfo, AnyMessage) bool

	topology driver.Topology
	errs     []error
}

func (s *redriveSpec) failf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// selective reports whether dead letters may be passed over that were asked for by nobody.
func (s *redriveSpec) selective(t *topicCore) bool {
	return s.reasons != nil || s.filters != nil || t.settings.deadLetterTo != ""
}

type redriveOption func(*redriveSpec)

func (o redriveOption) applyRedrive(s *redriveSpec) { o(s) }

// RedriveGroup redrives the dead letters of one group of a fan-out. A group that nobody knows has none to move. An empty g is
// none, which is right for a queue.
func RedriveGroup(g string) RedriveOption {
	return redriveOption(func(s *redriveSpec) {
		if g != "" {
			if err := checkName(g); err != nil {
				s.failf("group: %w", err)
			}
		}
		s.group = g
	})
}

// RedriveLimit moves at most n dead letters. An n of less than 1 is an error at start.
func RedriveLimit(n int) RedriveOption {
	return redriveOption(func(s *redriveSpec) {
		if n < 1 {
			s.failf("limit is %d, want at least 1", n)
		}
		s.limit = n
	})
}

// RedriveRate moves at most n dead letters a second, evenly, so that what failed once is not run over by what comes back. It is
// of this call: two redrives have a rate each. An n of less than 1 is an error at start. Without it a redrive is as fast as the
// broker.
func RedriveRate(n int) RedriveOption {
	return redriveOption(func(s *redriveSpec) {
		if n < 1 {
			s.failf("rate is %d a second, want at least 1", n)
		}
		s.rate = n
	})
}

// RedriveReason moves only the dead letters with one of these reasons. Given twice it is all of them. No reason, and one that
// there is not, are errors at start. What was set aside of a key, by [Park] or [FailAll], is left where something before it is
// left: see [Redrive].
func RedriveReason(reasons ...Reason) RedriveOption {
	return redriveOption(func(s *redriveSpec) {
		if len(reasons) == 0 {
			s.failf("no reason is given, and nothing would be moved: name one, or leave the option out")
		}
		if s.reasons == nil {
			s.reasons = make(map[Reason]bool)
		}
		for _, r := range reasons {
			if !slices.Contains(allReasons, r) {
				s.failf("there is no reason %.64q: there are %q", string(r), allReasons)
			}
			s.reasons[r] = true
		}
	})
}

// RedriveIf moves only the dead letters for which f is true. It is asked once for each that the other options let pass, in
// the order in which they come, by the goroutine that called [Redrive]. The message is valid until f returns, and has no
// consumer. Of several functions all must be true. A nil f is an error at start.
func RedriveIf(f func(dead DeadLetterInfo, m AnyMessage) bool) RedriveOption {
	return redriveOption(func(s *redriveSpec) {
		if f == nil {
			s.failf("the function of RedriveIf is nil")
			return
		}
		s.filters = append(s.filters, f)
	})
}

// Redrive publishes the dead letters of t back to where they failed, with the id, key, headers and body that they had and
// a fresh attempt count: to the topic, or for a group's (see [RedriveGroup]) to that group alone. Each copy is confirmed
// before its dead letter is settled, so that a redrive that is cut short and run again loses nothing, and may repeat what it
// had in hand. [PeekDeadLetters] shows what it would move.
//
// What was not asked for is passed over and stays: what has another reason, what failed elsewhere where the dead-letter topic
// is shared, and what was given up again since the redrive began. A message that it moves and that fails once more is a
// dead letter again and not moved a second time; one that fails for the first time meanwhile is moved too, unless that was
// more than a minute after the beginning, by the clock of the consumer that gave it up. Up to eight redrives may be at work on
// a topic at a time, and share its dead letters.
//
// Order: dead letters are moved in the order in which they come. One that was set aside behind another of its key, by [Park]
// or [FailAll], is passed over where one of its key was passed over before it, and so is what comes after it of the key: what
// is left of a key is always its end. Two redrives at a time do not keep that order.
//
// It ends when for half a second nothing has come but what was given up since it began, and the broker knows of no more; at the
// limit; and when ctx ends, which is an error that matches ctx's cause. It also ends, with an error, when it has passed over
// 10,000: behind them it sees nothing. Redriven counts what was done, also beside an error.
func Redrive[T any](ctx context.Context, b driver.Queuer, t TopicOf[T], opts ...RedriveOption) (done Redriven, err error) {
	topic, spec, err := redriveOf("redrive", b, t, opts)
	if err != nil {
		return Redriven{}, err
	}
	r := newRedrive(b, topic, spec)
	defer func() { // also when a function of RedriveIf panics
		err = r.end(ctx, "redrive", err)
		done = r.result
	}()
	if err := r.open(ctx); err != nil {
		return Redriven{}, err
	}
	return Redriven{}, r.run(ctx, r.move)
}

// redriveOf is what the options of an operation say, or all that is wrong with them.
func redriveOf[T any](op string, b driver.Queuer, t TopicOf[T], opts []RedriveOption) (*topicCore, *redriveSpec, error) {
	spec := &redriveSpec{}
	for _, o := range opts {
		if o == nil {
			spec.failf("a redrive option is nil")
			continue
		}
		o.applyRedrive(spec)
	}
	s := newSource(t, nil)
	topic := s.spec.topic
	if isNil(b) {
		s.spec.failf("the broker is nil")
	}
	if topic.fanout && spec.group == "" {
		s.spec.failf("the topic is a fan-out, whose groups have dead letters each: name one with RedriveGroup")
	}
	if !topic.fanout && spec.group != "" {
		s.spec.failf("the topic is a queue and has no groups")
	}
	if err := errors.Join(s.spec.err(), errors.Join(spec.errs...)); err != nil {
		return nil, nil, mistakes(op, topic.name, err)
	}
	return topic, spec, nil
}
