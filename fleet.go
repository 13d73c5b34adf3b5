package wherry

import (
	"context"
	"errors"
	"fmt"
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

// isEmpty looks at every source twice, between two counts of handled messages. A source whose broker fails to answer is not
// taken for empty; one whose broker never tells is, since waiting would not help. A copy that was still on its way when its
// handler was counted may have arrived, in the first look, at a source that was looked at already; the second look finds it.
// A message that moves further meanwhile raises the count.
func (f *fleet) isEmpty() bool {
	members := f.now()
	before := handledBy(members)
	for range 2 {
		for _, r := range members {
			if !r.volatile || r.isFailed() || r.paused.Load() {
				continue
			}
			if n, err := r.left(); n > 0 || err != nil && !errors.Is(err, errors.ErrUnsupported) {
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

// left is how much is left in the consumer's source. With an error it may be more, and the error says why that is not known;
// it matches [errors.ErrUnsupported] where the broker never tells.
func (r *running) left() (int, error) {
	d, err := r.depth()
	switch {
	case errors.Is(err, ErrNoTopic):
		return 0, nil
	case err != nil:
		return 0, err
	case min(d.Ready, d.Held, d.InFlight) < 0:
		err = fmt.Errorf("%T does not tell all that it holds: %w", r.c.source.broker, errors.ErrUnsupported)
	}
	return int(max(d.Ready, 0) + max(d.Held, 0) + max(d.InFlight, 0)), err
}

// leaves is what a stop leaves in a broker that forgets: the messages that nobody has in hand, and why that is not known.
// emptied tells that the fleet saw it empty.
func (r *running) leaves(emptied bool, inHand int) (int, error) {
	if !r.volatile || r.alone {
		return 0, nil
	}
	n, err := r.left()
	if emptied {
		n = 0
		if !errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	return max(n-inHand, 0), err
}

// depth asks the broker what waits.
func (r *running) depth() (driver.Depth, error) {
	return depthOf(context.Background(), r.c.source.broker, r.c.source.driver(r.c.spec.name, 1))
}

// depthOf asks a broker what waits at a source, for a second at most.
func depthOf(ctx context.Context, b driver.Broker, s driver.Source) (driver.Depth, error) {
	in, ok := b.(driver.Inspector)
	if !ok {
		return driver.Depth{}, fmt.Errorf("%T is not a driver.Inspector: %w", b, errors.ErrUnsupported)
	}
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	return in.Depth(ctx, s)
}
