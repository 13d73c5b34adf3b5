package wherry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// depthTime is how long the engine waits for an answer.
const depthTime = time.Second

// depth asks what waits for the consumer. Of a broadcast nobody knows it while there is no reader.
func (r *running) depth() (driver.Depth, error) {
	if r.c.source.manner == broadcasting && len(r.crew.now()) == 0 {
		return driver.Depth{Ready: -1, Held: -1, InFlight: -1}, nil
	}
	return r.depthAt(context.Background(), r.c.source.broker, r.c.source.driver(r.c.spec.name, 1))
}

// depthAt asks what waits at one of the consumer's places. What waits for a broadcast its own reader knows: the broker's answer is
// of all readers together.
func (r *running) depthAt(ctx context.Context, b driver.Broker, s driver.Source) (driver.Depth, error) {
	if r.c.source.manner == broadcasting && s.Topics[0].Name == r.origin.Topic {
		if d, err := r.ownDepth(ctx); !errors.Is(err, errors.ErrUnsupported) {
			return d, err
		}
	}
	return depthOf(ctx, b, s)
}

// ownDepth asks the receivers what waits for them. Of what is anybody's each counts all.
func (r *running) ownDepth(ctx context.Context) (driver.Depth, error) {
	var sum driver.Depth
	ctx, stop := context.WithTimeout(ctx, depthTime)
	defer stop()
	for _, w := range r.crew.now() {
		d, err := w.ownDepth(ctx)
		if err != nil {
			return driver.Depth{}, err
		}
		sum.Ready = plus(sum.Ready, d.Ready)
		sum.Held = plus(sum.Held, d.Held)
		sum.InFlight = plus(sum.InFlight, d.InFlight)
		if !d.Oldest.IsZero() && (sum.Oldest.IsZero() || d.Oldest.Before(sum.Oldest)) {
			sum.Oldest = d.Oldest
		}
	}
	return sum, nil
}

// ownDepth asks the worker's receiver what waits for it.
func (w *worker) ownDepth(ctx context.Context) (driver.Depth, error) {
	in, ok := w.recv.(driver.ReceiverInspector)
	if !ok {
		return driver.Depth{}, fmt.Errorf("%T is not a driver.ReceiverInspector: %w", w.recv, errors.ErrUnsupported)
	}
	return in.Depth(ctx)
}

// mayReceive reports whether any of what is ready could come to one of the receivers. Behind a key of another consumer, or in its
// partitions, it could not: that one is to be asked why nothing moves. The answer is kept for as long as that of the broker, since to
// give it costs a broker in process a walk over all that is ready. Nobody is asked where the answer is known: what is ready for a
// broadcast its receivers have said already, and where no key is another's, something came of late if more is handled than at the last
// look.
func (r *running) mayReceive(handled uint64) bool {
	h := &r.health
	h.mu.Lock()
	rose, may, known := handled > h.handled, h.may, h.mayKnown
	h.mu.Unlock()
	switch m := r.c.source.manner; {
	case m == broadcasting, m != sequenced && rose:
		return true
	case known:
		return may
	}
	may = r.receiversMay()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.may, h.mayKnown = may, true
	return may
}

// receiversMay asks the receivers whether any of what is ready could come to them, as far as they know. The first that may is enough.
func (r *running) receiversMay() bool {
	ctx, stop := context.WithTimeout(context.Background(), depthTime)
	defer stop()
	workers := r.crew.now()
	for _, w := range workers {
		if d, err := w.ownDepth(ctx); err != nil || d.Ready != 0 {
			return true
		}
	}
	return len(workers) == 0
}

// plus adds numbers of which -1 is one that is not known.
func plus(a, b int64) int64 {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// depthOf asks a broker what waits at a source, for depthTime at most.
func depthOf(ctx context.Context, b driver.Broker, s driver.Source) (driver.Depth, error) {
	in, ok := b.(driver.Inspector)
	if !ok {
		return driver.Depth{}, fmt.Errorf("%T is not a driver.Inspector: %w", b, errors.ErrUnsupported)
	}
	ctx, stop := context.WithTimeout(ctx, depthTime)
	defer stop()
	return in.Depth(ctx, s)
}
