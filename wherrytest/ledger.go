package wherrytest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A place is what messages wait at: a queue, or a group of a fan-out.
type place struct{ topic, group string }

func (p place) String() string {
	if p.group == "" {
		return p.topic
	}
	return p.topic + "/" + p.group
}

// A generation tells the copies of one message at one place apart: the original, its second attempt, and so on.
type generation struct {
	id      string
	attempt int
	defers  int
	hop     driver.Stamp
}

func generationOf(id string, c *driver.Control) generation {
	g := generation{id: id, attempt: max(c.Attempt, 1), defers: c.Defers}
	if c.Hold != nil {
		g.hop = c.Hold.Hop
	}
	return g
}

// waiting is records of one generation that were sent and are not done.
type waiting struct {
	n   int
	due driver.Stamp
}

// A ledger is the books of a test's broker: what was sent and is not done, what is in hand, and the story of each message.
type ledger struct {
	mu        sync.Mutex // guards everything below
	version   uint64     // rises with every entry
	changed   chan struct{}
	busy      int // sends and settlements that have begun and not ended
	receivers map[*receiver]struct{}
	groups    map[string][]string // of each fan-out
	pending   map[place]map[generation]*waiting
	stories   stories
	published []outgoing
	dead      []outgoing
}

func newLedger() *ledger {
	return &ledger{
		receivers: make(map[*receiver]struct{}), groups: make(map[string][]string),
		pending: make(map[place]map[generation]*waiting), stories: stories{byID: make(map[string]*story)},
	}
}

// touch wakes whoever waits for a change.
func (l *ledger) touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touchLocked()
}

// touchLocked wakes whoever waits for a change.
func (l *ledger) touchLocked() {
	l.version++
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// next returns a channel that is closed at the next change.
func (l *ledger) next() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed
}

// declare notes the groups of a fan-out.
func (l *ledger) declare(t driver.Topic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range t.Groups {
		l.joinLocked(t.Name, g)
	}
}

func (l *ledger) joinLocked(topic, group string) {
	if !slices.Contains(l.groups[topic], group) {
		l.groups[topic] = append(l.groups[topic], group)
	}
}

func (l *ledger) opened(r *receiver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.receivers[r] = struct{}{}
	for _, t := range r.source.Topics {
		for _, g := range t.Groups {
			l.joinLocked(t.Name, g)
		}
		if r.source.Group != "" {
			l.joinLocked(t.Name, r.source.Group)
		}
	}
	l.touchLocked()
}

func (l *ledger) closed(r *receiver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.gone = true
	for _, h := range r.hands {
		l.outOfHandLocked(h, false)
	}
	clear(r.hands)
	delete(l.receivers, r)
	l.touchLocked()
}

// An outgoing is a record on its way.
type outgoing struct {
	rec    driver.Record // with bytes of its own
	role   driver.Role
	at     place // where it goes, or will when its delay is over
	fanout bool
	id     string
	copy   generation
	places []place // where it is expected
}

// sending notes records that are about to be sent.
func (l *ledger) sending(t driver.Target, batch []driver.Record) []outgoing {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy++
	out := make([]outgoing, len(batch))
	for i := range batch {
		o := &out[i]
		*o = outgoing{rec: ownRecord(&batch[i]), role: t.Topic.Role, at: place{t.Topic.Name, t.Group}, fanout: t.Topic.Fanout}
		o.id = o.rec.ID.String()
		o.copy = generationOf(o.id, &o.rec.Control)
		o.places = []place{o.at}
		if t.Topic.Fanout && t.Group == "" {
			o.places = o.places[:0]
			for _, g := range l.groups[t.Topic.Name] {
				o.places = append(o.places, place{t.Topic.Name, g})
			}
		}
		if h := o.rec.Control.Hold; h != nil && o.role == driver.Hold {
			o.at, o.fanout = place{h.Topic, h.Group}, h.Fanout
		}
		for _, p := range o.places {
			l.expectLocked(p, o)
		}
	}
	l.touchLocked()
	return out
}

// ownRecord is a copy that shares nothing with the sender.
func ownRecord(r *driver.Record) driver.Record {
	c := *r
	c.Key, c.Body, c.Headers = slices.Clone(r.Key), slices.Clone(r.Body), slices.Clone(r.Headers)
	if f := r.Control.Failure; f != nil {
		own := *f
		c.Control.Failure = &own
	}
	if h := r.Control.Hold; h != nil {
		own := *h
		c.Control.Hold = &own
	}
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
		for _, p := range o.places {
			l.doneLocked(p, o.copy)
		}
		what := "not published"
		if !errors.Is(e, driver.ErrNotSent) {
			what = "perhaps published"
		}
		l.stories.add(o.id, step{kind: stepTold, at: o.at, text: what + ": " + e.Error()})
	}
	l.touchLocked()
}

// confirmLocked writes down a record that the broker has.
func (l *ledger) confirmLocked(o *outgoing) {
	if !o.rec.Unique {
		l.published = append(l.published, *o)
		l.stories.add(o.id, step{kind: stepPublished, at: o.at})
		return
	}
	failure := o.rec.Control.Failure
	if o.role == driver.DeadLetter && failure != nil && failure.Reason != "" {
		from := place{failure.Topic, failure.Group}
		l.dead = append(l.dead, *o)
		dead := step{kind: stepDead, at: from, reason: failure.Reason, text: failure.Last}
		if h := l.handLocked(from, o.id); h != nil {
			h.moved, h.next = true, dead
		} else {
			l.stories.add(o.id, dead)
		}
		return
	}
	if h := l.handLocked(o.at, o.id); h != nil {
		h.moved, h.next = true, again(h, o)
		return
	}
	for r := range l.receivers {
		for _, h := range r.hands {
			if h.id == o.id && h.role != driver.Main {
				h.moved = true
				if h.role == driver.DeadLetter {
					h.next = step{at: o.at, text: "redriven"}
				}
			}
		}
	}
}

// again is the step of a copy that goes back to where its original is in hand.
func again(h *hand, o *outgoing) step {
	s := step{at: o.at, attempt: h.copy.attempt}
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

// outOfHandLocked writes down how a delivery ended that is no longer in hand.
func (l *ledger) outOfHandLocked(h *hand, done bool) {
	switch {
	case h.moved && h.next.at != place{}:
		l.stories.add(h.id, h.next)
	case h.moved, h.role == driver.Hold, !done:
	default:
		l.stories.add(h.id, step{kind: stepHandled, at: h.at, attempt: h.copy.attempt})
	}
}

// handLocked is what is in hand of a message at a place.
func (l *ledger) handLocked(p place, id string) *hand {
	for r := range l.receivers {
		for _, h := range r.hands {
			if h.id == id && h.at == p && !h.moved {
				return h
			}
		}
	}
	return nil
}

// received notes deliveries.
func (l *ledger) received(r *receiver, got []*driver.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.gone {
		return
	}
	now := time.Now()
	for _, d := range got {
		id := d.ID.String()
		r.hands[d] = &hand{
			at: r.places[d.Topic], role: r.role(d.Topic), id: id, copy: generationOf(id, &d.Control), tenure: d.Tenure,
			since: now,
		}
	}
	l.touchLocked()
}

// settling takes deliveries out of hand. They go back by settled if the broker refuses.
func (l *ledger) settling(r *receiver, batch []driver.Settlement) []*hand {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy++
	hands := make([]*hand, len(batch))
	for i, s := range batch {
		hands[i] = r.hands[s.Delivery]
		delete(r.hands, s.Delivery)
	}
	l.touchLocked()
	return hands
}

// settled notes what became of them.
func (l *ledger) settled(r *receiver, batch []driver.Settlement, hands []*hand, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	for i, h := range hands {
		if h == nil {
			continue
		}
		e := driver.EntryError(err, i)
		if e != nil && !errors.Is(e, driver.ErrRevoked) && !r.gone {
			r.hands[batch[i].Delivery] = h
			continue
		}
		done := e == nil && batch[i].Verdict == driver.Done
		if done {
			l.doneLocked(h.at, h.copy)
		}
		l.outOfHandLocked(h, done)
	}
	l.touchLocked()
}

// lost takes what is in hand of a lost tenure out of the books: it comes again, to whomever.
func (l *ledger) lost(r *receiver, tenure uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d, h := range r.hands {
		if h.tenure == tenure {
			delete(r.hands, d)
			l.outOfHandLocked(h, false)
		}
	}
	l.touchLocked()
}
