package wherrytest

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A place is what messages wait at: a queue, a group of a fan-out, or a reader of it.
type place struct {
	topic, group string
	reader       string // the consumer whose reader it is
	seat         int    // tells readers of one name apart
}

func (p place) String() string {
	switch {
	case p.group != "":
		return p.topic + "/" + p.group
	case p.reader != "":
		return p.topic + ", read by " + p.reader
	default:
		return p.topic
	}
}

// who is the group or the reader; empty for a queue, and for all of a fan-out.
func (p place) who() string { return p.group + p.reader }

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
	accounts  map[*account]struct{}
	groups    map[string][]string // of each fan-out
	readers   map[string][]place  // the same, of those that are open
	seats     int
	consumed  map[place]bool // what has or had a receiver
	pending   map[place]map[generation]*waiting
	stories   stories
	published []outgoing
	dead      []outgoing
	handled   []end
	failing   map[failing]func(step)
}

// An end is a message that was handled at a place.
type end struct {
	at place
	id string
}

func newLedger() *ledger {
	return &ledger{
		accounts: make(map[*account]struct{}), groups: make(map[string][]string), readers: make(map[string][]place),
		consumed: make(map[place]bool), pending: make(map[place]map[generation]*waiting),
		stories: stories{byID: make(map[string]*story)}, failing: make(map[failing]func(step)),
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

func (l *ledger) opened(a *account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accounts[a] = struct{}{}
	for _, t := range a.source.Topics {
		for _, g := range t.Groups {
			l.joinLocked(t.Name, g)
		}
		p := place{topic: t.Name, group: a.source.Group}
		switch {
		case a.manner == driver.Broadcasting:
			l.seats++
			p.reader, p.seat = a.source.Name, l.seats
			l.readers[t.Name] = append(l.readers[t.Name], p)
			l.historyLocked(p, a.source.From)
		case p.group != "":
			l.joinLocked(t.Name, p.group)
		}
		a.places[t.Name] = p
		l.consumed[p] = true
	}
	l.touchLocked()
}

// historyLocked expects at a new reader what was published before, where it begins with that.
func (l *ledger) historyLocked(p place, from driver.Position) {
	for i := range l.published {
		if o := &l.published[i]; o.toAll && o.to.topic == p.topic && from.Head {
			l.expectLocked(p, o)
		}
	}
}

func (l *ledger) closed(a *account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a.gone = true
	for _, h := range a.hands {
		l.outOfHandLocked(h, false)
	}
	clear(a.hands)
	delete(l.accounts, a)
	if a.manner == driver.Broadcasting { // nothing that is sent from now on is for it
		for _, p := range a.places {
			l.readers[p.topic] = slices.DeleteFunc(l.readers[p.topic], func(r place) bool { return r == p })
		}
	}
	l.touchLocked()
}

// handLocked is what is in hand of a message at a place: not the copy that goes there, which may have come already.
func (l *ledger) handLocked(p place, id string, going generation) *hand {
	for a := range l.accounts {
		for _, h := range a.hands {
			if h.id == id && h.at == p && h.copy != going && !h.moved {
				return h
			}
		}
	}
	return nil
}

// received notes deliveries, and returns what is in hand by that.
func (l *ledger) received(a *account, got []*driver.Delivery) []*hand {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	hands := make([]*hand, len(got))
	for i, d := range got {
		id := d.ID.String()
		hands[i] = &hand{
			at: a.places[d.Topic], role: a.role(d.Topic), id: id, copy: generationOf(id, &d.Control), tenure: d.Tenure,
			since: now,
		}
		hands[i].attempt = hands[i].copy.attempt
		if !a.gone {
			a.hands[d] = hands[i]
		}
	}
	l.touchLocked()
	return hands
}

// settling takes deliveries out of hand. They go back by settled if the broker refuses.
func (l *ledger) settling(a *account, batch []driver.Settlement) []*hand {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy++
	hands := make([]*hand, len(batch))
	for i, s := range batch {
		hands[i] = a.hands[s.Delivery]
		delete(a.hands, s.Delivery)
	}
	l.touchLocked()
	return hands
}

// settled notes what became of them.
func (l *ledger) settled(a *account, batch []driver.Settlement, hands []*hand, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	for i, s := range batch {
		h := hands[i]
		if h == nil {
			continue
		}
		e := driver.EntryError(err, i)
		if e != nil && !errors.Is(e, driver.ErrRevoked) && !a.gone {
			a.hands[s.Delivery] = h
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
func (l *ledger) lost(a *account, tenure uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for d, h := range a.hands {
		if h.tenure == tenure {
			delete(a.hands, d)
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
	case h.dropped != nil:
		l.stories.add(h.id, *h.dropped)
	default:
		l.handled = append(l.handled, end{h.at, h.id})
		l.stories.add(h.id, step{kind: stepHandled, at: h.at, attempt: h.attempt})
	}
}
