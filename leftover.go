package wherry

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// A leftover is where consumers of a fleet that have ended would have found more, in a broker that forgets at exit.
type leftover struct {
	broker  driver.Broker
	places  []driver.Source
	told    int  // how many messages somebody was told of
	unknown bool // somebody was told that it is not known how many
}

// places are where messages wait for the consumer, in the order in which they go through them: from the longest hold to the
// source. Whoever looks in this order overlooks none that moves on meanwhile.
func (r *running) places() []driver.Source {
	source := r.c.source.driver(r.c.spec.name, 1)
	if r.holds == nil {
		return []driver.Source{source}
	}
	all := make([]driver.Source, 0, len(holdSteps)+1)
	for class := len(holdSteps) - 1; class >= 0; class-- {
		all = append(all, r.holds.source(class))
	}
	return append(all, source)
}

// left is how much is left for the consumer, and in which topics. With an error it may be more, and the error says why that
// is not known; it matches [errors.ErrUnsupported] where the broker never tells.
func (r *running) left() (n int, topics []string, err error) {
	return leftIn(r.c.source.broker, r.places(), r.depthAt)
}

type depthFunc func(ctx context.Context, b driver.Broker, s driver.Source) (driver.Depth, error)

func leftIn(b driver.Broker, places []driver.Source, depth depthFunc) (n int, topics []string, err error) {
	for _, s := range places {
		d, failed := depth(context.Background(), b, s)
		switch {
		case errors.Is(failed, ErrNoTopic):
			continue
		case failed != nil:
			return n, append(topics, places[len(places)-1].Topics[0].Name), failed
		case min(d.Ready, d.Held, d.InFlight) < 0:
			err = fmt.Errorf("%T does not tell all that it holds: %w", b, errors.ErrUnsupported)
		}
		if some := int(max(d.Ready, 0) + max(d.Held, 0) + max(d.InFlight, 0)); some > 0 {
			n, topics = n+some, append(topics, s.Topics[0].Name)
		}
	}
	return n, topics, err
}

// leaves is what a stop leaves in a broker that forgets: the messages that nobody has in hand and nobody was told of, where they
// are, and why that is not known. emptied tells that the fleet saw it empty; a run that failed with its closed broker says enough.
func (r *running) leaves(emptied bool, inHand int) (left int, topics []string, unknown error) {
	if !r.volatile || r.alone {
		return 0, nil, nil
	}
	n, topics, err := r.left()
	if emptied {
		n = 0
		if !errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
	}
	if r.isFailed() && errors.Is(err, ErrClosed) {
		err = nil
	}
	left = r.fleet.tell(r.c.source, r.places(), n, inHand, err)
	if left == 0 && err == nil {
		topics = nil
	}
	slices.Sort(topics)
	return left, topics, err
}

// tell notes that a consumer ends and finds n messages left, of which it has some in hand. It returns how many of the others
// nobody was told of yet, since consumers of one source would all tell of the same.
func (f *fleet) tell(s *sourceSpec, places []driver.Source, n, inHand int, unknown error) int {
	if s.manner == broadcasting {
		return max(n-inHand, 0) // what it leaves is its own, and ends with it
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	l := f.leftoverLocked(s.broker, places)
	l.unknown = l.unknown || unknown != nil
	fresh := max(n-inHand-l.told, 0)
	l.told = max(l.told, n)
	return fresh
}

// leftoverLocked is what is known of a source.
func (f *fleet) leftoverLocked(b driver.Broker, places []driver.Source) *leftover {
	source := places[len(places)-1]
	for _, l := range f.left {
		known := l.places[len(l.places)-1]
		if known.Topics[0].Name == source.Topics[0].Name && known.Group == source.Group && same(l.broker, b) {
			return l
		}
	}
	l := &leftover{broker: b, places: places}
	f.left = append(f.left, l)
	return l
}

// same compares brokers, of which some cannot be compared.
func same(a, b driver.Broker) bool {
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// late looks once more at what ended consumers would have found, when all runners have returned, and returns an error for
// what nobody was told of: something published when its consumer had gone.
func (f *fleet) late() error {
	var sum AbandonedError
	for _, l := range f.left {
		n, topics, err := leftIn(l.broker, l.places, depthOf)
		if errors.Is(err, ErrClosed) || l.unknown {
			err = nil // its owner closed it, or somebody was told
		}
		if n = max(n-l.told, 0); n == 0 && err == nil {
			continue
		}
		sum.add(&AbandonedError{Left: n, Topics: topics, Unknown: err})
	}
	if sum.isZero() {
		return nil
	}
	return &Error{Op: "run", Err: &sum}
}
