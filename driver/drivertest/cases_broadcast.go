package drivertest

import (
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func broadcastCases() []Case {
	just := []kind{broadcastKind}
	return []Case{
		{
			Name:     "all",
			Sentence: "Every broadcast reader gets every record, and groups get theirs beside.",
			kinds:    just, Run: broadcastAll,
		},
		{
			Name:     "now",
			Sentence: "A reader from now gets what is sent after it was opened, however late its first Receive, and nothing from before.",
			kinds:    just, Run: broadcastNow,
		},
		{
			Name:     "head",
			Sentence: "A reader from the head gets what was sent before it was opened, or is refused with errors.ErrUnsupported.",
			kinds:    just, Run: broadcastHead,
		},
		{
			Name:     "time",
			Sentence: "A reader from a time gets what was sent from then on, or is refused with errors.ErrUnsupported.",
			kinds:    just, Run: broadcastTime,
		},
		{
			Name:     "time-ahead",
			Sentence: "A reader from a time that has not come gets nothing of what is sent before it, or is refused with errors.ErrUnsupported.",
			kinds:    just, Run: broadcastTimeAhead,
		},
		{
			Name:     "slow",
			Sentence: "A reader that does not receive keeps neither senders nor other readers waiting, however much it is behind.",
			kinds:    just, Run: broadcastSlow,
		},
	}
}

func broadcastAll(t *T) {
	l := t.line()
	readers := []*receiver{l.receiver(), l.receiver(), l.receiver()}
	records := t.batch(20)
	l.send(records...)
	for _, r := range readers {
		r.done(r.expect(records...)...)
		r.none()
	}
	if !groupKind.can(l.b) {
		return
	}
	g := *l
	g.kind, g.group = groupKind, "one"
	g.topic.Groups = []string{"one"}
	member, reader := g.receiver(), l.receiver()
	more := t.batch(5)
	g.send(more...)
	member.done(member.expect(more...)...)
	reader.done(reader.expect(more...)...)
}

func broadcastNow(t *T) {
	l := t.line()
	l.receiver().close() // the topic is there
	l.send(t.batch(5)...)
	r := l.receiver()
	records := t.batch(5)
	l.send(records...)
	t.pause(t.h.Quiet / 5)
	r.done(r.expect(records...)...)
	r.none()
}

// from opens a reader at a position; nil when the broker keeps no history.
func (l *line) from(p driver.Position) *receiver {
	s := l.source()
	s.From = p
	r, err := l.tryReceiver(s)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		l.t.Logf("no history: %v", err)
		return nil
	case err != nil:
		l.t.Fatalf("opening a broadcast reader from %+v: %v", p, err)
	}
	return watchReceiver(l.t, r, s)
}

func broadcastHead(t *T) {
	l := t.line()
	l.receiver().close()
	records := t.batch(10)
	l.send(records...)
	if r := l.from(driver.Position{Head: true}); r != nil {
		r.done(r.expect(records...)...)
		more := t.batch(3)
		l.send(more...)
		r.done(r.expect(more...)...)
		r.none()
	}
}

func broadcastTime(t *T) {
	l := t.line()
	l.receiver().close()
	l.send(t.batch(5)...)
	// Brokers stamp to the millisecond, and by their own clock: leave room on both sides.
	t.pause(t.h.slack())
	then := time.Now()
	t.pause(t.h.slack())
	records := t.batch(5)
	l.send(records...)
	if r := l.from(driver.Position{Time: then}); r != nil {
		r.done(r.expect(records...)...)
		r.none()
	}
}

func broadcastTimeAhead(t *T) {
	l := t.line()
	l.receiver().close()
	then := time.Now().Add(4 * t.h.slack())
	r := l.from(driver.Position{Time: then})
	if r == nil {
		return
	}
	l.send(t.batch(5)...)
	t.pause(time.Until(then.Add(t.h.slack())))
	records := t.batch(5)
	l.send(records...)
	r.done(r.expect(records...)...)
	r.none()
}

func broadcastSlow(t *T) {
	l := t.line()
	slow, quick := l.receiver(), l.receiver()
	slow.none()
	quick.none()
	s := l.sender()
	for left := t.h.Backlog; left > 0; left -= prefetch / 2 {
		records := t.batch(min(left, prefetch/2))
		s.send(records...)
		quick.done(quick.expect(records...)...)
	}
	quick.none()
	slow.close()
}
