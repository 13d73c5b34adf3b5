package wherrytest

import (
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/errtext"
)

// failing is an attempt that failed, or was put off, where what fails stays: what comes of it is told by an event of its own, which
// may come when the next attempt has begun, or is over.
type failing struct {
	at      place
	id      string
	attempt int // 0 for what was put off
}

// hear writes down what no broker sees: what is tried again in the memory of its consumer, and what is dropped.
func (l *ledger) hear(event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := event.(type) {
	case *wherry.Handled:
		switch e.Outcome.Kind() {
		case wherry.KindRetry:
			l.failedLocked(e, e.Attempt)
		case wherry.KindDefer:
			l.failedLocked(e, 0)
		default:
			return
		}
	case *wherry.Retried:
		l.waitsLocked(e.Origin, e.ID, e.Delay, step{kind: stepRetried, attempt: e.Attempt, text: textOf(e.Err)})
	case *wherry.Deferred:
		l.waitsLocked(e.Origin, e.ID, e.Delay, step{kind: stepDeferred})
	case *wherry.Dropped:
		for _, h := range l.heardLocked(e.Origin, e.ID) {
			if h.dropped == nil {
				h.dropped = &step{kind: stepDropped, at: h.at, reason: string(e.Reason), text: textOf(e.Err)}
				break
			}
		}
	default:
		return
	}
	l.touchLocked()
}

// heardLocked is what is in hand of a message at a consumer: more than one where several readers of a broadcast have one name.
func (l *ledger) heardLocked(o wherry.Origin, id string) []*hand {
	var hands []*hand
	for a := range l.accounts {
		if a.source.Name != o.Consumer || a.source.Group != o.Group {
			continue
		}
		for _, h := range a.hands {
			if h.id == id && h.at.topic == o.Topic {
				hands = append(hands, h)
			}
		}
	}
	return hands
}

// keeperLocked is where a consumer receives, with whom what fails stays; nil for others. Readers of one name have one, since events
// do not tell them apart.
func (l *ledger) keeperLocked(o wherry.Origin) *place {
	for a := range l.accounts {
		if p, ok := a.places[o.Topic]; ok && a.keeps() && a.source.Name == o.Consumer && a.source.Group == o.Group {
			p.seat = 0
			return &p
		}
	}
	return nil
}

// failedLocked keeps the place of a failed attempt in the story.
func (l *ledger) failedLocked(e *wherry.Handled, attempt int) {
	at := l.keeperLocked(e.Origin)
	if at == nil {
		return
	}
	l.failing[failing{*at, e.ID, attempt}] = l.stories.begin(e.ID, step{})
	if attempt == 0 {
		return
	}
	for _, h := range l.heardLocked(e.Origin, e.ID) {
		if h.attempt == attempt {
			h.attempt++
			return
		}
	}
}

// waitsLocked notes that a message waits with its consumer.
func (l *ledger) waitsLocked(o wherry.Origin, id string, delay time.Duration, s step) {
	at := l.keeperLocked(o)
	if at == nil {
		return
	}
	due := driver.StampOf(time.Now().Add(delay))
	for _, h := range l.heardLocked(o, id) {
		h.due = max(h.due, due)
		if s.kind == stepDeferred {
			s.attempt = h.attempt
		}
	}
	s.at = *at
	which := failing{*at, id, 0}
	if s.kind == stepRetried {
		which.attempt = s.attempt
	}
	if write := l.failing[which]; write != nil {
		write(s)
		delete(l.failing, which)
		return
	}
	l.stories.add(id, s) // of another reader of the same name, which failed at the same attempt
}

// textOf is an error's text; none for no error.
func textOf(err error) string {
	if err == nil {
		return ""
	}
	return errtext.Of(err)
}
