package wherry

import (
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	// maxMarks is how many redrives a message knows that brought it back: as many may be at work at a time without moving one
	// message in a circle.
	maxMarks = 8
	// redriveSkew is after how long what is given up for the first time counts as given up since the redrive began. The
	// clocks of two hosts may differ by as much.
	redriveSkew = time.Minute
)

// A sieve chooses among the dead letters, as they come.
type sieve struct {
	spec  *redriveSpec
	topic string
	mark  string             // of this redrive, on all that it moves
	late  driver.Stamp       // what was given up after that came since it began
	left  map[string]leftKey // of those that were passed over
}

// A leftKey is what was passed over of a key.
type leftKey struct {
	aside bool // something that was set aside
	again bool // something that was given up since
}

// A pick is what becomes of a dead letter.
type pick uint8

const (
	pickTaken pick = iota
	pickPassed
	pickAgain // passed over since it was given up since the redrive began, or is behind such a one
)

// pick is asked for each dead letter in turn.
func (s *sieve) pick(d *driver.Delivery) pick {
	i := deadLetterInfo(d)
	// Several topics and groups may share a dead-letter topic; one that says nothing of itself belongs to whoever asks.
	if i.Topic != "" && (i.Topic != s.topic || i.Group != s.spec.group) {
		return pickPassed
	}
	aside := i.Reason == ReasonParked || i.Reason == ReasonFollows
	key, behind := s.left[string(d.Key)]
	p := pickTaken
	switch {
	case s.since(d):
		p = pickAgain
	case behind && (aside || key.aside): // it would overtake what is left
		p = pickPassed
		if key.again {
			p = pickAgain
		}
	case !s.spec.wants(i, d):
		p = pickPassed
	}
	if p != pickTaken && len(d.Key) > 0 {
		if s.left == nil {
			s.left = make(map[string]leftKey)
		}
		s.left[string(d.Key)] = leftKey{aside: key.aside || aside, again: key.again || p == pickAgain}
	}
	return p
}

// since reports whether a dead letter was given up since the redrive began. What it moved itself it knows by its mark, which no
// clock can falsify.
func (s *sieve) since(d *driver.Delivery) bool {
	f := d.Control.Failure
	if f == nil {
		return false
	}
	return f.LastAt > s.late || slices.Contains(strings.Split(f.Redrives, markSeparator), s.mark)
}

// wants reports whether a dead letter was asked for.
func (s *redriveSpec) wants(i DeadLetterInfo, d *driver.Delivery) bool {
	if s.reasons != nil && !s.reasons[i.Reason] {
		return false
	}
	for _, f := range s.filters {
		if !f(i, &message{d: d}) {
			return false
		}
	}
	return true
}

const markSeparator = "."

// marksOf are the marks of the redrives that brought a message back.
func marksOf(d *driver.Delivery) string {
	if f := d.Control.Failure; f != nil {
		return f.Redrives
	}
	return ""
}

// withMark adds a mark to those that a message has.
func withMark(marks, mark string) string {
	if marks == "" {
		return mark
	}
	all := append(strings.Split(marks, markSeparator), mark)
	return strings.Join(all[max(0, len(all)-maxMarks):], markSeparator)
}
