package wherrytest

import (
	"fmt"
	"strings"
)

// stepKind is what a step of a message's story counts as.
type stepKind uint8

const (
	stepTold stepKind = iota // counts as nothing
	stepSending
	stepPublished
	stepHandled
	stepRetried
	stepDeferred
	stepDead
	stepDropped
)

// A step is something that happened to a message.
type step struct {
	kind    stepKind
	at      place
	attempt int
	reason  string
	text    string
}

func (s *step) String() string {
	switch s.kind {
	case stepSending:
		return "is being published"
	case stepPublished:
		return "published"
	case stepHandled:
		return fmt.Sprintf("handled at attempt %d", s.attempt)
	case stepRetried:
		return fmt.Sprintf("attempt %d failed: %s", s.attempt, s.text)
	case stepDeferred:
		return fmt.Sprintf("deferred at attempt %d", s.attempt)
	case stepDead:
		return fmt.Sprintf("dead, %s: %s", s.reason, s.text)
	case stepDropped:
		return fmt.Sprintf("dropped, %s: %s", s.reason, s.text)
	default:
		return s.text
	}
}

// A story is what happened to a message, in order.
type story struct {
	id    string
	steps []step
}

// stories are those of all messages, in the order in which they were first heard of.
type stories struct {
	byID  map[string]*story
	order []*story
}

func (s *stories) add(id string, what step) { s.begin(id, what) }

// begin adds a step whose end is not known yet, and returns how to replace it.
func (s *stories) begin(id string, what step) (replace func(step)) {
	one := s.byID[id]
	if one == nil {
		one = &story{id: id}
		s.byID[id] = one
		s.order = append(s.order, one)
	}
	i := len(one.steps)
	one.steps = append(one.steps, what)
	return func(other step) { one.steps[i] = other }
}

// concerns reports whether a step belongs to a topic and, where one is asked for, to a group or a reader: what was published
// belongs to all of them.
func (s *step) concerns(p place) bool {
	at := s.at
	return at.topic == p.topic && (p.who() == "" || at.who() == "" || at.group == p.group && at.reader == p.reader)
}

// tell is the story as far as it concerns p, empty when it does not.
func (s *story) tell(p place) string {
	var parts []string
	for i := range s.steps {
		one := &s.steps[i]
		if !one.concerns(p) {
			continue
		}
		text := one.String()
		if who := one.at.who(); p.who() == "" && who != "" {
			text = who + ": " + text
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return ""
	}
	id := s.id
	if id == "" {
		id = "(no id)"
	}
	return id + "  " + strings.Join(parts, "; ")
}

// mostStories is how many messages a failure tells of.
const mostStories = 20

// tell is the stories that concern p, a line each.
func (s *stories) tell(p place) string {
	var b strings.Builder
	n := 0
	for _, one := range s.order {
		text := one.tell(p)
		if text == "" {
			continue
		}
		if n < mostStories {
			b.WriteString("\n  " + text)
		}
		n++
	}
	if n > mostStories {
		fmt.Fprintf(&b, "\n  … and %d more", n-mostStories)
	}
	return b.String()
}
