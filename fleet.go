package wherry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// emptyPoll is how often a stopping fleet looks whether anything has changed, and asks its broker while it does.
	emptyPoll = 2 * time.Millisecond
	// emptyPause is the longest time between two questions. What waits for an hour must not be asked for all the time.
	emptyPause = 50 * time.Millisecond
	// emptyPart of the time in which nothing has changed is the time to the next question.
	emptyPart = 20
)

// A fleet is the consumers of one Run. A broker that forgets at exit is emptied before they stop, and that takes all of
// them: a handler of one publishes what another consumes. What else publishes in that Run has to return before.
type fleet struct {
	quarantine quarantine

	mu      sync.Mutex // guards the fields below
	members map[*running]struct{}
	guests  map[*guest]struct{} // that have not returned
	turns   uint64              // how often something became of a guest
	left    []*leftover         // in brokers that forget, by the sources of consumers that have ended
}

type fleetKey struct{}

func newFleet() *fleet {
	return &fleet{members: make(map[*running]struct{}), guests: make(map[*guest]struct{})}
}

// withFleet returns a context whose consumers join f.
func withFleet(ctx context.Context, f *fleet) context.Context {
	return context.WithValue(ctx, fleetKey{}, f)
}

// fleetOf is the fleet that a consumer prepared under ctx belongs to; alone, it is its own.
func fleetOf(ctx context.Context) *fleet {
	if f, ok := ctx.Value(fleetKey{}).(*fleet); ok {
		return f
	}
	return newFleet()
}

// join adds a consumer that is prepared: what is prepared together starts together, and none of it takes the broker for
// empty before the last has begun.
func (f *fleet) join(r *running) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members[r] = struct{}{}
}

func (f *fleet) leave(r *running) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.members, r)
}

// hasNamesake reports whether another consumer that was prepared and has not ended has the name of r.
func (f *fleet) hasNamesake(r *running) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for other := range f.members {
		if other != r && other.origin.Consumer == r.origin.Consumer {
			return true
		}
	}
	return false
}

// namesakes is what is said of consumers that have one name.
func namesakes(name string) string {
	return fmt.Sprintf("Another consumer of this Run is named %q too: events and health do not tell them apart. Name gives one another name.", name)
}

func (f *fleet) now() []*running {
	f.mu.Lock()
	defer f.mu.Unlock()
	rs := make([]*running, 0, len(f.members))
	for r := range f.members {
		rs = append(rs, r)
	}
	return rs
}

// empty keeps r consuming until nothing is left that a consumer of the fleet would receive, and reports whether it came to
// that before over was closed.
func (f *fleet) empty(r *running, over <-chan struct{}) bool {
	tick := time.NewTicker(emptyPoll)
	defer tick.Stop()
	var asked time.Time
	changed, seen := time.Now(), uint64(0)
	for {
		now := time.Now()
		if n := f.progress(r); n != seen {
			changed, seen = now, n
		}
		if now.Sub(asked) >= min(now.Sub(changed)/emptyPart, emptyPause) {
			asked = now
			if f.isEmpty(r) {
				return true
			}
		}
		select {
		case <-tick.C:
		case <-over:
			return false
		case <-r.failed:
			return false
		}
	}
}

// progress is a number that changes when a message was handled, or a guest has returned.
func (f *fleet) progress(r *running) uint64 {
	_, turns := f.company(r)
	return handledBy(f.now()) + turns
}

// isEmpty reports whether nothing is left to wait for, of the consumer that asks. It looks at every source twice, between two
// counts of handled messages. A source whose broker fails to answer is not taken for empty; one whose broker never tells is, since
// waiting would not help. A copy that was still on its way when its handler was counted may have arrived, in the first look, at a
// source that was looked at already; the second look finds it. A message that moves further meanwhile raises the count.
//
// One that is stopped alone is looked at like all others: its handlers may publish what another consumes until they return.
func (f *fleet) isEmpty(of *running) bool {
	some, turns := f.company(of)
	if some {
		return false
	}
	members := f.now()
	before := handledBy(members)
	for range 2 {
		for _, r := range members {
			if !r.volatile || r.isFailed() || r.paused.Load() {
				continue
			}
			if n, _, err := r.left(); n > 0 || err != nil && !errors.Is(err, errors.ErrUnsupported) {
				return false
			}
		}
	}
	_, now := f.company(of)
	return now == turns && handledBy(members) == before
}

func handledBy(rs []*running) uint64 {
	n := uint64(0)
	for _, r := range rs {
		n += r.handled()
	}
	return n
}

// handled is how many messages the consumer's handlers returned from in this run.
func (r *running) handled() uint64 {
	workers, n := r.crew.all()
	for _, w := range workers {
		w.mu.Lock()
		w.recallAllLocked()
		n += w.handled
		w.mu.Unlock()
	}
	return n
}
