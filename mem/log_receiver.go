package mem

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A logReceiver is a member of a group of one or more topics, or a reader of them. The broker's lock guards it.
type logReceiver struct {
	b      *LogBroker
	source driver.Source
	how    mode
	wake   chan struct{} // holds one value: look again

	revocations chan driver.Revocation
	pending     []driver.Revocation // for which the channel has no room
	telling     bool                // a goroutine sends them
	notifying   sync.WaitGroup      // that goroutine
	done        chan struct{}       // closed first by Close
	ended       chan struct{}       // closed last by Close

	groups []*logGroup // of a member
	reads  []*share    // of a reader, also those that it has no tenure of at the moment
	shares []*share    // what it has
	out    bool        // of some group: the next Receive joins
	wiped  wipe
	turn   int       // the cursor that is asked first
	open   []*cursor // for take
	closed bool
}

// wipe says how far a receiver is whose topology was wiped away.
type wipe uint8

const (
	notWiped  wipe = iota
	wipedAway      // the next Receive says so
	wipedTold      // and the one after looks for its topics again
)

var (
	_ driver.Revoker = (*logReceiver)(nil)
	_ driver.Waiter  = (*logReceiver)(nil)

	_ driver.ReceiverInspector = (*logReceiver)(nil)
)

func newLogReceiver(b *LogBroker, s driver.Source, how mode) *logReceiver {
	s.Topics = slices.Clone(s.Topics)
	return &logReceiver{
		b:           b,
		source:      s,
		how:         how,
		wake:        make(chan struct{}, 1),
		revocations: make(chan driver.Revocation, revocationBuffer),
		done:        make(chan struct{}),
		ended:       make(chan struct{}),
		out:         true,
	}
}

// find looks for the topics of the source, and has a reader begin there.
func (r *logReceiver) find() error {
	if r.how != reading {
		groups, err := r.b.groupsOf(&r.source)
		r.groups = groups
		return err
	}
	topics, err := r.b.topicsOf(&r.source, true)
	if err != nil {
		return err
	}
	r.reads = nil
	for _, t := range topics {
		lost := r.b.lostBy(lostBy{topic: t.name, reader: true})
		for _, p := range t.main.all {
			s := &share{b: r.b}
			position := p.end()
			switch from := r.source.From; {
			case !from.Time.IsZero():
				position = p.since(from.Time)
			case from.Head:
				position = p.base
			}
			s.add(p, position, lost).from = r.source.From.Time
			s.give(r)
			r.reads = append(r.reads, s)
		}
	}
	return nil
}

// Info is the same for every receiver of a broker.
func (r *logReceiver) Info() driver.Info { return logInfo() }

// Receive takes what its partitions have, each first once in a while.
func (r *logReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	if len(dst) == cap(dst) {
		return dst, errNoSpace
	}
	if err := ctx.Err(); err != nil {
		return dst, err
	}
	for {
		got, err := r.poll(dst)
		if len(got) > len(dst) || err != nil {
			return got, err
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return dst, ctx.Err()
		}
	}
}

// poll takes what is there.
func (r *logReceiver) poll(dst []*driver.Delivery) ([]*driver.Delivery, error) {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	switch {
	case r.b.closed:
		return dst, errBrokerClosed
	case r.closed:
		return dst, errReceiverClosed
	case r.b.cut == SoftCut:
		return dst, nil
	case r.b.cut != Connected:
		return dst, errAway
	case r.wiped == wipedAway:
		r.wiped = wipedTold
		return dst, fmt.Errorf("mem: %w: %w", driver.ErrDisconnected, errWiped)
	case r.wiped == wipedTold:
		if err := r.find(); err != nil {
			return dst, err
		}
		r.wiped = notWiped
	}
	if r.out {
		r.out = false
		for _, g := range r.groups {
			g.join(r)
		}
	}
	for _, s := range r.reads {
		if s.owner == nil {
			s.give(r)
		}
	}
	return r.take(dst)
}

// take asks the cursors in turn.
func (r *logReceiver) take(dst []*driver.Delivery) ([]*driver.Delivery, error) {
	open := r.open[:0]
	for _, s := range r.shares {
		if s.ending == nil {
			open = append(open, s.cursors...)
		}
	}
	r.open = open
	r.turn++
	for i := range open {
		c := open[(r.turn+i)%len(open)]
		for len(dst) < cap(dst) {
			position, rec, err := c.next()
			if err != nil {
				return dst, err
			}
			if rec == nil {
				break
			}
			dst = append(dst, c.deliver(r, position, rec))
		}
	}
	return dst, nil
}

// rouse makes a waiting Receive look again.
func (r *logReceiver) rouse() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// tell sends a revocation, at once or by a goroutine: whoever holds the lock waits for no engine.
func (r *logReceiver) tell(rev driver.Revocation) {
	if r.closed {
		return
	}
	if !r.telling {
		select {
		case r.revocations <- rev:
			return
		default:
		}
		r.telling = true
		r.notifying.Go(r.tellAll)
	}
	r.pending = append(r.pending, rev)
}

func (r *logReceiver) tellAll() {
	for {
		r.b.mu.Lock()
		if len(r.pending) == 0 || r.closed {
			r.telling = false
			r.b.mu.Unlock()
			return
		}
		rev := r.pending[0]
		r.pending = r.pending[1:]
		r.b.mu.Unlock()
		select {
		case r.revocations <- rev:
		case <-r.done:
		}
	}
}

// Revocations brings the tenures that end since partitions go to other receivers, or by the fault switches.
func (r *logReceiver) Revocations() <-chan driver.Revocation { return r.revocations }

// Waiting says that the broker is away, that partitions are about to change hands, that there are too few, or behind which
// position a window is full.
func (r *logReceiver) Waiting() string {
	r.b.mu.Lock()
	defer r.b.mu.Unlock()
	switch {
	case r.closed:
		return ""
	case r.b.cut != Connected:
		return driver.ErrDisconnected.Error()
	}
	ending := func(s *share) bool { return s.ending != nil }
	if slices.ContainsFunc(r.shares, ending) {
		return "rebalancing"
	}
	for _, s := range r.shares {
		for _, c := range s.cursors {
			if why := c.tracker.Waiting(); why != "" {
				return "partition " + c.log.name + ": " + why
			}
		}
	}
	if len(r.shares) > 0 || r.out {
		return ""
	}
	for _, g := range r.groups {
		if slices.ContainsFunc(g.shares, ending) {
			return "rebalancing"
		}
	}
	return "no partition is left for it: the group has more receivers than partitions"
}

// Close gives up its partitions. What is unsettled is read again from the commit. All calls but the first wait for the first.
func (r *logReceiver) Close(context.Context) error {
	r.b.mu.Lock()
	first := r.detach()
	r.b.mu.Unlock()
	if first {
		r.end()
	}
	<-r.ended
	return nil
}

// detach takes the receiver out of everything, once, and reports whether it did. The caller holds the lock, and calls end after.
func (r *logReceiver) detach() bool {
	if r.closed {
		return false
	}
	r.closed = true
	delete(r.b.receivers, r)
	for _, s := range slices.Clone(r.shares) {
		s.take()
	}
	for _, s := range r.reads {
		s.remove()
	}
	for _, g := range r.groups {
		g.leave(r)
		g.balance()
	}
	r.rouse()
	close(r.done)
	return true
}

// end ends what tells the engine of revocations.
func (r *logReceiver) end() {
	r.notifying.Wait()
	close(r.revocations)
	close(r.ended)
}

// fallOut takes the receiver out of its groups without a word to it. Its next Receive joins again.
func (r *logReceiver) fallOut(topic string) {
	for _, g := range r.groups {
		if topic == "" || g.t.name == topic {
			g.leave(r)
		}
	}
	r.out = true
	r.rouse()
}

// revoke ends the tenures of the receiver in a topic, or in all, and returns how many.
func (r *logReceiver) revoke(topic string, grace time.Duration) int {
	r.fallOut(topic)
	told := 0
	for _, s := range slices.Clone(r.shares) {
		if s.ending == nil && (topic == "" || s.cursors[0].log.t.name == topic) {
			s.endAfter(grace)
			told++
		}
	}
	for _, g := range r.groups {
		g.balance()
	}
	return told
}
