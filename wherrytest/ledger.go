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
	for i, s := range batch {
		h := hands[i]
		if h == nil {
			continue
		}
		e := driver.EntryError(err, i)
		if e != nil && !errors.Is(e, driver.ErrRevoked) && !r.gone {
			r.hands[s.Delivery] = h
			continue
		}
		done := e == nil && s.Verdict == driver.Done
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

// outOfHandLocked writes down how a delivery ended that is no longer in hand.
func (l *ledger) outOfHandLocked(h *hand, done bool) {
	switch {
	case h.write != nil:
		h.write(h.next)
	case h.moved, h.role == driver.Hold, !done:
	default:
		l.stories.add(h.id, step{kind: stepHandled, at: h.at, attempt: h.copy.attempt})
	}
}
