package wherry

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/wherryhq/wherry/driver"
)

const (
	// maxAside is how many keys may be set aside in memory. Past it intake pauses.
	maxAside = 100_000
	// maxAsideIDs is how many messages of them are known by their ids. Others are counted.
	maxAsideIDs = 1 << 17
)

var errFollows = errors.New("an earlier message of its key failed for good")

// asides are the keys whose messages go to the dead letters unseen, of all workers of a consumer: a key may go from one to
// another. Each has the ids of those that are there, for Park: what was redriven may be delivered twice, and counts once.
type asides struct {
	n    atomic.Int64 // of keys
	mu   sync.Mutex   // guards the fields below
	keys map[string]*asideKey
	ids  int
}

type asideKey struct {
	ids  map[driver.ID]struct{}
	more int // without an id, or when there are too many ids to know them all
}

func (a *asides) full() bool { return a.n.Load() >= maxAside }

// has reports whether a key is set aside.
func (a *asides) has(key []byte) bool {
	if a.n.Load() == 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	_, there := a.keys[string(key)]
	return there
}

// add notes that a message of a key goes to the dead letters.
func (a *asides) add(key []byte, id driver.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.keys[string(key)]
	if k == nil {
		if a.keys == nil {
			a.keys = make(map[string]*asideKey)
		}
		k = &asideKey{}
		a.keys[string(key)] = k
		a.n.Store(int64(len(a.keys)))
	}
	if id.IsZero() || a.ids >= maxAsideIDs {
		k.more++
		return
	}
	if k.ids == nil {
		k.ids = make(map[driver.ID]struct{})
	}
	before := len(k.ids)
	k.ids[id] = struct{}{}
	a.ids += len(k.ids) - before
}

// back notes that a message of a key came back. With the last of them the key is no longer set aside.
func (a *asides) back(key []byte, id driver.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.keys[string(key)]
	if k == nil {
		return
	}
	if _, known := k.ids[id]; known {
		delete(k.ids, id)
		a.ids--
	} else if k.more > 0 {
		k.more--
	}
	if len(k.ids)+k.more == 0 {
		delete(a.keys, string(key))
		a.n.Store(int64(len(a.keys)))
	}
}

// setsAside reports whether a key is set aside when its first fails for good.
func (s *sequencer) setsAside(n *seqNode) bool {
	return s.ordered && s.spec.onFailure >= FailAll && len(n.Key()) > 0
}

// asideID is by what a message that goes to the dead letters is known again. Only Park asks for that.
func (s *sequencer) asideID(d *driver.Delivery) driver.ID {
	if s.spec.onFailure != Park {
		return driver.ID{}
	}
	return d.ID
}

// noteAsideLocked notes that the first of a key goes to the dead letters.
func (s *sequencer) noteAsideLocked(n *seqNode) {
	if s.setsAside(n) {
		s.w.r.aside.add(n.Key(), s.asideID(n.Value.head))
	}
}

// asideLocked sends the first of a key that is set aside to the dead letters, and reports whether it does. What was redriven is
// handled under Park.
func (s *sequencer) asideLocked(n *seqNode) bool {
	if !s.setsAside(n) || !s.w.r.aside.has(n.Key()) {
		return false
	}
	d := n.Value.head
	why := ReasonFollows
	if s.spec.onFailure == Park {
		if d.Control.Redriven {
			s.w.r.aside.back(n.Key(), d.ID)
			return false
		}
		why = ReasonParked
	}
	_, m := s.w.giveUp(d, why, errFollows, attemptOf(d)-1)
	s.w.r.aside.add(n.Key(), s.asideID(d))
	s.moveLocked(n, m)
	return true
}

// relieveLocked sets a key aside whose first is being retried and which has as many as may wait, where the policy would do so in
// the end: others would have to wait with it.
func (s *sequencer) relieveLocked(n *seqNode) {
	k := &n.Value
	if k.state != keyWaiting || k.shown == nil || k.err == nil || !s.setsAside(n) {
		return
	}
	s.undueLocked(n)
	_, m := s.w.giveUp(k.shown, ReasonExhausted, k.err, attemptOf(k.shown)-1)
	s.noteAsideLocked(n)
	s.moveLocked(n, m)
}

// crowdedLocked says why no more is received, empty where that is not so.
func (s *sequencer) crowdedLocked() string {
	switch n := s.crowdedKeyLocked(); {
	case !s.crampedLocked():
		return ""
	case n != nil:
		return fmt.Sprintf("%d messages of the key %.64q wait for it, and no more are received", n.Value.n-1, n.Key())
	case s.w.r.aside.full():
		return fmt.Sprintf("%d keys are set aside, and no more messages are received", s.w.r.aside.n.Load())
	default:
		return fmt.Sprintf("%d messages of %d bytes wait for their keys, and no more are received", s.waiting, s.bytes)
	}
}

// crowdedKeyLocked is a key for which as many wait as may, nil where there is none: the last that became one, or another where that
// has moved on.
func (s *sequencer) crowdedKeyLocked() *seqNode {
	if s.crowded == 0 {
		return nil
	}
	if n := s.example; n != nil && s.isCrowded(&n.Value) {
		return n
	}
	s.example = nil
	s.eachLocked(func(n *seqNode) {
		if s.example == nil && s.isCrowded(&n.Value) {
			s.example = n
		}
	})
	return s.example
}

// crowded says why a worker receives no more, empty where none does.
func (r *running) crowded() string {
	for _, w := range r.crew.now() {
		if w.seq == nil {
			continue
		}
		w.mu.Lock()
		why := w.seq.crowdedLocked()
		w.mu.Unlock()
		if why != "" {
			return why
		}
	}
	return ""
}
