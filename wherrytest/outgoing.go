package wherrytest

import (
	"errors"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// An outgoing is a record on its way.
type outgoing struct {
	rec    driver.Record // with bytes of its own
	role   driver.Role
	to     place
	toAll  bool  // to every group and reader
	at     place // where it goes, or will when its delay is over
	id     string
	copy   generation
	places []place // where it is expected
	// write fills in the step that its story keeps free for it: it can be received and handled before its Send returns.
	write func(step)
}

// outgoingOf is records that are about to be sent.
func outgoingOf(t driver.Target, batch []driver.Record) []outgoing {
	out := make([]outgoing, len(batch))
	for i := range batch {
		o := &out[i]
		*o = outgoing{
			rec: ownRecord(&batch[i]), role: t.Topic.Role, at: place{topic: t.Topic.Name, group: t.Group},
			toAll: t.Topic.Fanout && t.Group == "",
		}
		o.to = o.at
		o.id = o.rec.ID.String()
		o.copy = generationOf(o.id, &o.rec.Control)
		if h := o.rec.Control.Hold; h != nil && o.role == driver.Hold {
			o.at = place{topic: h.Topic, group: h.Group}
		}
	}
	return out
}

// sending notes records that are about to be sent.
func (l *ledger) sending(t driver.Target, batch []driver.Record) []outgoing {
	out := outgoingOf(t, batch)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy++
	for i := range out {
		l.beginLocked(&out[i])
	}
	l.touchLocked()
	return out
}

// beginLocked expects a record where it is sent to, and keeps a place for it in its story.
func (l *ledger) beginLocked(o *outgoing) {
	o.places = []place{o.to}
	if o.toAll {
		o.places = o.places[:0]
		for _, g := range l.groups[o.to.topic] {
			o.places = append(o.places, place{topic: o.to.topic, group: g})
		}
		o.places = append(o.places, l.readers[o.to.topic]...)
	}
	for _, p := range o.places {
		l.expectLocked(p, o)
	}
	first := step{} // of a copy: nothing to tell yet
	if !o.rec.Unique {
		first = step{kind: stepSending, at: o.at}
	}
	o.write = l.stories.begin(o.id, first)
}

// ownRecord is a copy that shares nothing with the sender.
func ownRecord(r *driver.Record) driver.Record {
	c := *r
	c.Key, c.Body, c.Headers = slices.Clone(r.Key), slices.Clone(r.Body), slices.Clone(r.Headers)
	c.Control = r.Control.Clone()
	return c
}

func (l *ledger) expectLocked(p place, o *outgoing) {
	if o.id == "" {
		return // nothing tells it apart
	}
	at := l.pending[p]
	if at == nil {
		at = make(map[generation]*waiting)
		l.pending[p] = at
	}
	w := at[o.copy]
	if w == nil {
		w = &waiting{}
		at[o.copy] = w
	}
	w.n++
	w.due = max(w.due, o.rec.Due, o.copy.hop)
}

func (l *ledger) doneLocked(p place, g generation) {
	w := l.pending[p][g]
	if w == nil {
		return
	}
	w.n--
	if w.n == 0 {
		delete(l.pending[p], g)
	}
}

// sent notes what became of them.
func (l *ledger) sent(out []outgoing, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	for i := range out {
		o := &out[i]
		e := driver.EntryError(err, i)
		if e == nil {
			l.confirmLocked(o)
			continue
		}
		l.refusedLocked(o, e)
	}
	l.touchLocked()
}

// unexpectLocked is for a record that will not come.
func (l *ledger) unexpectLocked(o *outgoing) {
	for _, p := range o.places {
		l.doneLocked(p, o.copy)
	}
}

// refusedLocked writes down a record that the broker does not have, or perhaps not.
func (l *ledger) refusedLocked(o *outgoing, err error) {
	l.unexpectLocked(o)
	what := "not published: "
	if !errors.Is(err, driver.ErrNotSent) {
		what = "perhaps published: "
	}
	o.write(step{at: o.at, text: what + err.Error()})
}

// confirmLocked writes down a record that the broker has.
func (l *ledger) confirmLocked(o *outgoing) {
	if !o.rec.Unique {
		l.published = append(l.published, *o)
		o.write(step{kind: stepPublished, at: o.at})
		return
	}
	failure := o.rec.Control.Failure
	if o.role == driver.DeadLetter && failure != nil && failure.Reason != "" {
		from := place{topic: failure.Topic, group: failure.Group}
		l.dead = append(l.dead, *o)
		dead := step{kind: stepDead, at: from, reason: failure.Reason, text: failure.Last}
		if h := l.handLocked(from, o.id, generation{}); h != nil {
			h.moveTo(o, dead)
		} else {
			o.write(dead)
		}
		return
	}
	if h := l.handLocked(o.at, o.id, o.copy); h != nil {
		h.moveTo(o, again(h, o))
		return
	}
	for a := range l.accounts {
		for _, h := range a.hands {
			if h.id == o.id && h.role != driver.Main {
				if h.role == driver.DeadLetter {
					h.moveTo(o, step{at: o.at, text: "redriven"})
				} else {
					h.moved = true
				}
			}
		}
	}
}

// again is the step of a copy that goes back to where its original is in hand.
func again(h *hand, o *outgoing) step {
	s := step{at: o.at, attempt: h.attempt}
	c := &o.rec.Control
	switch {
	case c.Defers > h.copy.defers:
		s.kind = stepDeferred
	case c.Attempt > h.copy.attempt:
		s.kind = stepRetried
		if c.Failure != nil {
			s.text = c.Failure.Last
		}
	default:
		s.text = "came before it was due"
	}
	return s
}
