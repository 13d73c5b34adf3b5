package mem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/wherryhq/wherry/driver"
)

var (
	errTxOpen = errors.New("mem: Next while a transaction is open: commit or abort it first")
	errTxOver = fmt.Errorf("mem: the transaction is over: %w", driver.ErrClosed)
)

// A txReceiver is a receiver whose deliveries are settled by transactions.
type txReceiver struct {
	r *receiver
	// as is in whose name a commit waits for room.
	as *sender

	mu      sync.Mutex // guards the fields below, held over straight-line code; taken before any other
	open    *tx        // nil when none is
	targets []*txTarget

	arena []byte // of keys and bodies of what was sent; used again by the next transaction
	last  tx     // the transaction that is over, to be used again
	// What a commit looks up, to be used again by the next.
	queues []*queue
	needs  []need
}

// leasedTx is one whose deliveries end unless extended.
type leasedTx struct{ *txReceiver }

// Extend renews leases.
func (l leasedTx) Extend(ctx context.Context, batch []*driver.Delivery) error {
	return leased{l.r}.Extend(ctx, batch)
}

var (
	_ driver.Transactor = (*Broker)(nil)
	_ driver.Revoker    = (*txReceiver)(nil)
	_ driver.Waiter     = (*txReceiver)(nil)
	_ driver.Extender   = leasedTx{}
)

// OpenTransacted opens one competing consumer of queues, or with a group one member of it. The receiver is a
// [driver.Revoker] and a [driver.Waiter], and a [driver.Extender] when the broker has a lease.
//
// A commit waits while a target is full; a target that is empty takes any transaction, however much that sends to it.
func (b *Broker) OpenTransacted(ctx context.Context, s driver.Source) (driver.TxReceiver, error) {
	opened, err := b.open(ctx, s, competing)
	if err != nil {
		return nil, err
	}
	switch r := opened.(type) {
	case leased:
		return leasedTx{newTxReceiver(r.receiver)}, nil
	case *receiver:
		return newTxReceiver(r), nil
	default:
		return nil, fmt.Errorf("mem: a %T has no transactions", opened)
	}
}

func newTxReceiver(r *receiver) *txReceiver {
	return &txReceiver{r: r, as: &sender{b: r.b, done: r.done}}
}

func (x *txReceiver) Info() driver.Info                     { return x.r.Info() }
func (x *txReceiver) Revocations() <-chan driver.Revocation { return x.r.Revocations() }
func (x *txReceiver) Waiting() string                       { return x.r.Waiting() }

// Next receives and opens a transaction.
func (x *txReceiver) Next(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, driver.Tx, error) {
	x.mu.Lock()
	busy := x.open != nil
	x.mu.Unlock()
	if busy {
		return dst, nil, errTxOpen
	}
	n := len(dst)
	dst, err := x.r.Receive(ctx, dst)
	if len(dst) == n {
		return dst, nil, err
	}
	t := &tx{x: x, in: append(x.last.in[:0], dst[n:]...), out: x.last.out[:0]}
	x.arena = x.arena[:0]
	x.mu.Lock()
	x.open = t
	x.mu.Unlock()
	return dst, t, err
}

// Close gives back what is unsettled and wakes a commit that waits.
func (x *txReceiver) Close(ctx context.Context) error {
	x.as.closed.Store(true)
	x.mu.Lock()
	x.open = nil
	targets := slices.Clone(x.targets)
	x.mu.Unlock()
	err := x.r.Close(ctx)
	for _, to := range targets {
		for _, q := range to.s.route.Load().all() {
			q.evictAll(x.as, errReceiverClosed)
		}
	}
	return err
}

// A txTarget is where a receiver's transactions send, with how much the open one does.
type txTarget struct {
	s     *sender
	ready load
	held  load
}

// A load is a number of records with their bytes.
type load struct{ messages, bytes int }

func (l *load) add(size int) {
	l.messages++
	l.bytes += size
}

// A tx is a transaction. It keeps what is sent until the commit, which looks at everything and then does everything under the
// locks of all queues that it concerns: there is no moment at which a part of it is done.
type tx struct {
	x   *txReceiver
	in  []*driver.Delivery
	out []outgoing
}

// outgoing is a record that was sent, with bytes of our own.
type outgoing struct {
	to  *txTarget
	rec driver.Record
}

// running reports whether t is the open transaction.
func (t *tx) running() bool {
	t.x.mu.Lock()
	defer t.x.mu.Unlock()
	return t.x.open == t
}

// Send keeps copies. A dead-letter or hold topic that is full now refuses now, so that one message is refused and not the
// transaction.
func (t *tx) Send(ctx context.Context, target driver.Target, batch []driver.Record) error {
	if !t.running() {
		return notSent(errTxOver)
	}
	to, err := t.x.target(ctx, target)
	if err != nil {
		return notSent(err)
	}
	if len(t.out) == 0 {
		t.x.clearLoads()
	}
	var failed failures
	for i := range batch {
		r := &batch[i]
		if err := t.refuse(to, r, failed.earlier(batch[:i], r)); err != nil {
			failed.add(len(batch), i, err)
			continue
		}
		if t.waits(r) {
			to.held.add(r.Size())
		} else {
			to.ready.add(r.Size())
		}
		t.out = append(t.out, outgoing{to, t.x.copyOf(r)})
	}
	return failed.err(len(batch))
}

// waits reports whether a record becomes ready by its due time alone.
func (t *tx) waits(r *driver.Record) bool {
	b := t.x.r.b
	return r.Due != 0 && !b.cfg.Weak.NoHold && b.dueAt(r) > b.now()
}

// refuse says why a record cannot be part of the transaction.
func (t *tx) refuse(to *txTarget, r *driver.Record, earlier error) error {
	b, size := t.x.r.b, r.Size()
	if earlier != nil {
		return earlier
	}
	if size > b.cfg.MaxRecord {
		return errTooLarge
	}
	if !b.calm.Load() {
		if err := b.faults.onTxSend(to.s.target.Topic.Name, size); err != nil {
			return err
		}
	}
	queues, err := to.s.queues()
	if err != nil {
		return err
	}
	waits := t.waits(r)
	if !waits && to.s.target.Topic.Role == driver.Main {
		return nil // the commit waits for room
	}
	for _, q := range queues {
		q.mu.Lock()
		ok := waits && q.holdsAll(to.held.messages+1, to.held.bytes+size) ||
			!waits && q.fitsAll(to.ready.messages+1, to.ready.bytes+size, to.s.most, false)
		q.mu.Unlock()
		if !ok {
			return errFull
		}
	}
	return nil
}

// target finds or opens where records go.
func (x *txReceiver) target(ctx context.Context, t driver.Target) (*txTarget, error) {
	for _, to := range x.targets {
		if of := &to.s.target; of.Topic.Name == t.Topic.Name && of.Group == t.Group && of.Topic.Role == t.Topic.Role {
			return to, nil
		}
	}
	opened, err := x.r.b.OpenSender(ctx, t)
	if err != nil {
		return nil, err
	}
	s, ok := opened.(*sender)
	if !ok {
		s = opened.(plain).s //nolint:forcetypeassert // There are no others.
	}
	to := &txTarget{s: s}
	x.mu.Lock()
	x.targets = append(x.targets, to)
	x.mu.Unlock()
	return to, nil
}

func (x *txReceiver) clearLoads() {
	for _, to := range x.targets {
		to.ready, to.held = load{}, load{}
	}
}

// copyOf returns r with bytes of our own.
func (x *txReceiver) copyOf(r *driver.Record) driver.Record {
	c := *r
	c.Body, c.Key = x.keep(r.Body), x.keep(r.Key)
	c.Headers, c.Control = slices.Clone(r.Headers), r.Control.Clone()
	return c
}

func (x *txReceiver) keep(b []byte) []byte {
	n := len(x.arena)
	x.arena = append(x.arena, b...)
	return x.arena[n:len(x.arena):len(x.arena)]
}

// end makes the open transaction one that is over, and reports whether it was open.
func (t *tx) end() bool {
	x := t.x
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open != t {
		return false
	}
	x.open = nil
	return true
}

// done keeps what can be used again.
func (t *tx) done() {
	clear(t.in)
	clear(t.out)
	if cap(t.x.arena) > maxFreeBytes {
		t.x.arena = nil
	}
	t.x.last.in, t.x.last.out = t.in[:0], t.out[:0]
	t.in, t.out = nil, nil
}

// Abort gives back what was received.
func (t *tx) Abort(context.Context) error {
	if t.end() {
		t.giveBack()
		t.done()
	}
	return nil
}
