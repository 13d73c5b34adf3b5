package mem

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	// settleBatch is the number of settlements from which a larger batch gains little: as many as an engine takes at once.
	settleBatch  = 256
	settleLinger = time.Millisecond
	// maxDelay is the longest delay of a release.
	maxDelay = 24 * time.Hour
)

var errNoSpace = errors.New("mem: Receive into a slice without free capacity")

// A receiver is a member of one or more queues.
type receiver struct {
	b      *Broker
	source driver.Source
	how    mode
	wake   chan struct{} // holds one value: look again
	wanted chan struct{} // holds one value

	// Receive alone uses these.
	turn   int  // the member that is asked first
	waits  bool // all members are among those that wait
	rejoin bool // the topology was wiped: the next Receive looks for its queues again

	revocations chan driver.Revocation
	notifying   sync.WaitGroup // sends on revocations
	done        chan struct{}  // closed first by Close
	ended       chan struct{}  // closed last by Close

	mu      sync.Mutex // guards the fields below; taken after Broker.mu, before a queue's
	members []*member  // replaced when the topology was wiped; by Receive alone, which therefore reads it without mu
	closed  bool
}

var (
	_ driver.Revoker = (*receiver)(nil)
	_ driver.Waiter  = (*receiver)(nil)
	_ driver.Sharer  = (*receiver)(nil)

	_ driver.ReceiverInspector = (*receiver)(nil)

	_ driver.Extender = leased{}
)

// revocationBuffer lets revocations be told before the engine reads.
const revocationBuffer = 16

func newReceiver(b *Broker, s driver.Source, how mode) *receiver {
	return &receiver{
		b:           b,
		source:      s,
		how:         how,
		wake:        make(chan struct{}, 1),
		wanted:      make(chan struct{}, 1),
		revocations: make(chan driver.Revocation, revocationBuffer),
		done:        make(chan struct{}),
		ended:       make(chan struct{}),
	}
}

// join makes r a member of its source's queues. The caller holds b.mu.
func (b *Broker) join(r *receiver) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.over()
	}
	find := b.sources
	if r.how == reading {
		find = b.addReaders
	}
	queues, err := find(r.source)
	if err != nil {
		return err
	}
	for _, q := range queues {
		if err := q.suits(r.how); err != nil { // which changes under b.mu alone, but for receivers that leave
			return err
		}
	}
	members := make([]*member, len(queues))
	for i, q := range queues {
		members[i] = &member{
			r: r, q: q, tenure: b.tenure.Add(1), place: uint64(i), most: mostOfKey(r.source.Prefetch),
		}
		q.enter(members[i])
	}
	r.members = members
	return nil
}

// rejoin is join after the topology was wiped.
func (b *Broker) rejoin(r *receiver) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return err
	}
	if err := b.join(r); err != nil {
		return err
	}
	r.rejoin = false
	return nil
}

// wiped reports that the receiver's queues are gone.
func (r *receiver) wiped() error {
	r.leave()
	r.rejoin = true
	return fmt.Errorf("mem: %w: %w", driver.ErrDisconnected, errWiped)
}

// Info is the same for every receiver of a broker.
func (r *receiver) Info() driver.Info { return r.b.info() }

// Receive takes many deliveries under one lock, at most its fair share while other receivers of the queue wait.
func (r *receiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	if len(dst) == cap(dst) {
		return dst, errNoSpace
	}
	if err := ctx.Err(); err != nil {
		return dst, err
	}
	for {
		got, err := r.take(dst)
		if len(got) > len(dst) || err != nil {
			return got, err
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			r.leave()
			return dst, ctx.Err()
		}
	}
}

// take returns what is there. When there is nothing it has put the receiver among those that wait.
func (r *receiver) take(dst []*driver.Delivery) ([]*driver.Delivery, error) {
	if !r.b.calm.Load() {
		if wait, err := r.trouble(); wait || err != nil {
			return dst, err
		}
	}
	if r.rejoin {
		if err := r.b.rejoin(r); err != nil {
			return dst, err
		}
	}
	if len(r.members) == 1 {
		return r.members[0].take(dst, true)
	}
	got, err := r.takeAny(dst, false)
	if len(got) == len(dst) && err == nil {
		r.waits = true
		got, err = r.takeAny(dst, true)
		if len(got) == len(dst) && err == nil {
			return dst, nil
		}
	}
	if r.waits {
		r.leave()
	}
	return got, err
}

// takeAny asks the members in turn, each first once in a while. Those that were not asked still wait if they did.
func (r *receiver) takeAny(dst []*driver.Delivery, wait bool) ([]*driver.Delivery, error) {
	n := len(r.members)
	r.turn = (r.turn + 1) % n
	for i := range n {
		got, err := r.members[(r.turn+i)%n].take(dst, wait)
		if err != nil {
			return got, err
		}
		dst = got
		if len(dst) == cap(dst) {
			break
		}
	}
	return dst, nil
}

// rouse makes a waiting Receive look again.
func (r *receiver) rouse() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// depart takes the receiver out of those that wait, and passes on a wake that was on its way to it.
func (r *receiver) depart() {
	r.waits = false
	for _, m := range r.members {
		m.q.mu.Lock()
		m.arrive()
		m.q.unlock()
	}
}

// leave is depart for a Receive that returns. Who goes on to wait must keep the wake: it may tell of what changed since the look.
func (r *receiver) leave() {
	r.depart()
	select {
	case <-r.wake:
	default:
	}
}

func (r *receiver) Close(context.Context) error {
	r.b.mu.Lock()
	delete(r.b.receivers, r)
	r.b.mu.Unlock()
	r.end()
	return nil
}

// end gives back what is unsettled and ends the receiver. All calls but the first wait for the first.
func (r *receiver) end() {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	members := r.members
	r.mu.Unlock()
	if !first {
		<-r.ended
		return
	}
	close(r.done)
	for _, m := range members {
		m.part()
	}
	if r.how == reading {
		r.b.removeReaders(members)
	}
	r.rouse()
	r.notifying.Wait()
	close(r.revocations)
	close(r.ended)
}
