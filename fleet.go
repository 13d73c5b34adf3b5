package wherry

import (
	"context"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// emptyPoll is how often a stopping fleet looks whether its broker is empty.
const emptyPoll = 2 * time.Millisecond

// A fleet is the consumers of one Run. A broker that forgets at exit is emptied before they stop, and that takes all of
// them: a handler of one publishes what another consumes.
type fleet struct {
	quarantine quarantine

	mu      sync.Mutex // guards the field below
	members map[*running]struct{}
}

type fleetKey struct{}

func newFleet() *fleet { return &fleet{members: make(map[*running]struct{})} }

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
	for {
		if f.isEmpty() {
			return true
		}
		select {
		case <-tick.C:
		case <-over:
			return false
		case <-r.failed:
			return true
		}
	}
}

// isEmpty looks at every source twice, between two counts of handled messages. A copy that was still on its way when its
// handler was counted may have arrived, in the first look, at a source that was looked at already; the second look finds it.
// A message that moves further meanwhile raises the count.
func (f *fleet) isEmpty() bool {
	members := f.now()
	before := handledBy(members)
	for range 2 {
		for _, r := range members {
			if r.volatile && !r.isFailed() && !r.paused.Load() && r.left() > 0 {
				return false
			}
		}
	}
	return handledBy(members) == before
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

// left is how much is left in the consumer's source, 0 where the broker does not tell.
func (r *running) left() int {
	d, ok := r.depth()
	if !ok {
		return 0
	}
	return int(max(d.Ready, 0) + max(d.Held, 0) + max(d.InFlight, 0))
}

// depth asks the broker what waits, and whether it knows.
func (r *running) depth() (driver.Depth, bool) {
	in, ok := r.c.source.broker.(driver.Inspector)
	if !ok {
		return driver.Depth{}, false
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	d, err := in.Depth(ctx, r.c.source.driver(r.c.spec.name, 1))
	return d, err == nil
}
