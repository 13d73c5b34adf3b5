package wherry

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	// mostLostTenures is how many lost tenures are remembered, to abort what still comes of them.
	mostLostTenures = 64
)

// A txReceiver makes a receiver of one that works in transactions, so that the engine above it is the same: a transaction
// begins with a Receive, which waits until the one before is over, and ends when the last of its deliveries was answered
// for. What is settled is only noted until then, and the leases of all of it are kept here.
type txReceiver struct {
	recv     driver.TxReceiver
	revoker  driver.Revoker
	extender driver.Extender
	waiter   driver.Waiter
	spec     *txSpec
	w        *worker
	info     driver.Info
	lease    time.Duration

	revocations chan driver.Revocation
	done        chan struct{} // closed by Close
	closing     sync.Once
	beside      sync.WaitGroup
	// turn is held around each Extend, Commit and Abort: a driver may use again what is settled. It is a channel, since a
	// call can last.
	turn chan struct{}

	mu       sync.Mutex // guards the fields below; taken after the worker's
	open     *openTx    // nil when none is
	size     int        // the most of the next: less where the age cut the last one short
	lost     []uint64
	timers   []*time.Timer // of tenures that are ending
	failures int           // of commits, in a row
	pause    time.Duration // after the last of them
	cause    string        // what is wrong, empty while nothing is
	detail   string
	progress uint64
	refusals txRefusals
}

// An openTx is a transaction that is open.
type openTx struct {
	tx     driver.Tx
	units  []unit
	left   int   // not answered for
	doomed error // why it must not be committed
	ending bool  // all is answered for: it is being committed or aborted
	aged   bool  // no further handler was called since it is old enough
	full   bool  // or since its handlers have published all that they may together
	over   chan struct{}
	age    *time.Timer
	renew  *time.Timer
	after  []func() // called once it is over
	bytes  atomic.Int64
}

// A unit is what becomes of one delivery.
type unit struct {
	d        *driver.Delivery
	tenure   uint64
	answered bool
	done     bool
	out      []txRecord // what its handler published
	move     *move      // its copy, in place of that
	delay    time.Duration
	crowded  bool // what the others published left its handler no room
}

func newTxReceiver(r driver.TxReceiver, spec *txSpec) *txReceiver {
	t := &txReceiver{
		recv: r, spec: spec, size: spec.size, info: r.Info(),
		revocations: make(chan driver.Revocation), done: make(chan struct{}), turn: make(chan struct{}, 1),
	}
	t.refusals.seed = maphash.MakeSeed()
	t.revoker, _ = r.(driver.Revoker)
	t.waiter, _ = r.(driver.Waiter)
	if t.extender, _ = r.(driver.Extender); t.extender != nil {
		t.lease = t.info.Lease
	}
	t.info.Lease = 0
	t.info.SettleBatch, t.info.SettleLinger = 1, 0 // which costs nothing, and the last one is not to wait
	return t
}

// Info implements [driver.Receiver].
func (t *txReceiver) Info() driver.Info { return t.info }

// Waiting implements [driver.Waiter].
func (t *txReceiver) Waiting() string {
	if t.waiter == nil {
		return ""
	}
	return t.waiter.Waiting()
}

// Receive implements [driver.Receiver]: it waits for the end of the transaction before, pauses after one that failed, and
// opens the next.
func (t *txReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	for {
		size, err := t.free(ctx)
		if err != nil {
			return dst, err
		}
		n := len(dst)
		got, tx, err := t.recv.Next(ctx, dst[:n:min(n+size, cap(dst))])
		if tx == nil {
			return dst, err
		}
		if t.begin(tx, got[n:]) {
			return dst[:len(got)], err
		}
		// Some of it is of a tenure that is lost already.
		t.turn <- struct{}{}
		_ = tx.Abort(ctx)
		<-t.turn
		if err != nil {
			return dst, err
		}
	}
}

// free waits until no transaction is open and returns the most that the next may take.
func (t *txReceiver) free(ctx context.Context) (size int, err error) {
	paused := false
	for {
		t.mu.Lock()
		open, pause, size := t.open, t.pause, t.size
		t.mu.Unlock()
		switch {
		case open != nil:
			select {
			case <-open.over:
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		case pause > 0 && !paused:
			if sleep(ctx, pause) != nil {
				return 0, ctx.Err()
			}
			paused = true
		default:
			return size, nil
		}
	}
}

// begin notes what a transaction brought. It is false when that must be given back.
func (t *txReceiver) begin(tx driver.Tx, ds []*driver.Delivery) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	open := &openTx{tx: tx, left: len(ds), over: make(chan struct{}), units: make([]unit, len(ds))}
	for i, d := range ds {
		if slices.Contains(t.lost, d.Tenure) {
			return false
		}
		d.Slot = i
		open.units[i] = unit{d: d, tenure: d.Tenure}
	}
	open.age = time.AfterFunc(t.spec.age, func() { t.old(open) })
	if t.lease > 0 {
		open.renew = time.AfterFunc(t.lease/3, func() { t.extend(open) })
	}
	t.open = open
	return true
}

// unitLocked is that of a delivery, nil when it is of no open transaction.
func (t *txReceiver) unitLocked(d *driver.Delivery) *unit {
	if t.open == nil || t.open.ending || d.Slot >= len(t.open.units) || t.open.units[d.Slot].d != d {
		return nil
	}
	return &t.open.units[d.Slot]
}

// old has what no handler was called for yet given back.
func (t *txReceiver) old(open *openTx) {
	t.mu.Lock()
	is := t.open == open && !open.ending
	open.aged = open.aged || is
	t.mu.Unlock()
	if is {
		t.w.share("its transaction has been open for long enough")
	}
}

// crowd notes that a handler could not publish since the others of its transaction have published so much. What no handler was
// called for yet is given back, or each of them would find no room either.
func (t *txReceiver) crowd(of *openTx, d *driver.Delivery) {
	t.mu.Lock()
	u := t.unitLocked(d)
	is := u != nil && t.open == of
	if is {
		u.crowded, of.full = true, true
	}
	t.mu.Unlock()
	if is {
		t.w.share("its transaction is full")
	}
}

// crowded reports whether a failure of this message's handler says nothing about the message: there was no room for what it
// publishes. It is false of a nil receiver.
func (t *txReceiver) crowded(d *driver.Delivery) bool {
	if t == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.unitLocked(d)
	return u != nil && u.crowded
}

// keep notes what the handler of a delivery published. It is false when its transaction is over.
func (t *txReceiver) keep(of *openTx, d *driver.Delivery, out []txRecord) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.unitLocked(d)
	if u == nil || t.open != of || u.answered {
		return false
	}
	u.out = out
	return true
}

// refusal is why what the handler of this message publishes can never be sent, nil where that is not known.
func (t *txReceiver) refusal(d *driver.Delivery) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refusals.of(d)
}

// move makes copies part of the transaction.
func (t *txReceiver) move(ms []*move) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range ms {
		if u := t.unitLocked(m.d); u != nil {
			u.move = m
		}
	}
}

// Settle implements [driver.Receiver]. It notes the answers, and ends the transaction with the last of them. What is of no
// open transaction was given back with it.
func (t *txReceiver) Settle(_ context.Context, batch []driver.Settlement) error {
	t.mu.Lock()
	for _, s := range batch {
		if u := t.unitLocked(s.Delivery); u != nil {
			u.done = s.Verdict == driver.Done && !u.answered
			u.delay = s.Delay
			t.answerLocked(u)
		}
	}
	open := t.lastLocked()
	t.mu.Unlock()
	if open != nil {
		ctx, stop := context.WithTimeout(t.w.settleBase, commitTimeout)
		defer stop()
		t.end(ctx, open)
	}
	return nil
}

func (t *txReceiver) answerLocked(u *unit) {
	if !u.answered {
		u.answered = true
		t.open.left--
	}
}

// lastLocked returns the open transaction when all of it is answered for, to whoever is to end it.
func (t *txReceiver) lastLocked() *openTx {
	if t.open == nil || t.open.left > 0 || t.open.ending {
		return nil
	}
	t.open.ending = true
	return t.open
}

// extend keeps the leases of the whole transaction, answered for or not.
func (t *txReceiver) extend(open *openTx) {
	select {
	case t.turn <- struct{}{}:
	default:
		return // it is being committed, which keeps them
	}
	t.mu.Lock()
	if t.open != open {
		t.mu.Unlock()
		<-t.turn
		return
	}
	ds := make([]*driver.Delivery, len(open.units))
	for i := range open.units {
		ds[i] = open.units[i].d
	}
	t.mu.Unlock()
	ctx, stop := context.WithTimeout(t.w.settleBase, settleTimeout)
	err := t.extender.Extend(ctx, ds)
	stop()
	<-t.turn
	for i, d := range ds {
		if e := driver.EntryError(err, i); errors.Is(e, ErrRevoked) {
			t.giveUp(e, func(u *unit) bool { return u.d == d })
			t.w.loseOne(d)
		}
	}
	t.mu.Lock()
	if t.open == open {
		open.renew.Reset(t.lease / 3)
	}
	t.mu.Unlock()
}

// giveUp dooms the open transaction if it has deliveries that were lost. Nobody answers for those any more.
func (t *txReceiver) giveUp(why error, lost func(*unit) bool) {
	t.mu.Lock()
	if t.open != nil && !t.open.ending {
		for i := range t.open.units {
			if u := &t.open.units[i]; lost(u) {
				t.open.doomed = why
				t.answerLocked(u)
			}
		}
	}
	open := t.lastLocked()
	t.mu.Unlock()
	if open != nil {
		ctx, stop := context.WithTimeout(t.w.settleBase, commitTimeout)
		defer stop()
		t.end(ctx, open)
	}
}

// Revocations implements [driver.Revoker]. A tenure that ends is told first here and then to the engine; the driver hears
// that nothing of it is held once the transaction that had some of it is over.
func (t *txReceiver) Revocations() <-chan driver.Revocation {
	if t.revoker == nil {
		return t.revocations
	}
	in := t.revoker.Revocations()
	t.beside.Go(func() {
		for r := range in {
			t.revoked(&r)
			select {
			case t.revocations <- r:
			case <-t.done:
				return
			}
		}
	})
	return t.revocations
}

func (t *txReceiver) revoked(r *driver.Revocation) {
	tenure := r.Tenure
	switch {
	case r.Lost:
		t.lose(tenure)
	case !r.Until.IsZero():
		t.mu.Lock()
		t.timers = append(t.timers[max(0, len(t.timers)-mostLostTenures+1):], time.AfterFunc(time.Until(r.Until), func() { t.lose(tenure) }))
		t.mu.Unlock()
	}
	if done := r.Done; done != nil {
		r.Done = func() { t.whenOver(tenure, done) }
	}
}

// lose ends a tenure: a transaction that has some of it is aborted.
func (t *txReceiver) lose(tenure uint64) {
	t.mu.Lock()
	t.lost = append(t.lost[max(0, len(t.lost)-mostLostTenures+1):], tenure)
	t.mu.Unlock()
	t.giveUp(fmt.Errorf("%w: tenure ended", ErrRevoked), func(u *unit) bool { return u.tenure == tenure })
}

// whenOver calls f once no open transaction has something of the tenure.
func (t *txReceiver) whenOver(tenure uint64, f func()) {
	t.mu.Lock()
	if t.open != nil && slices.ContainsFunc(t.open.units, func(u unit) bool { return u.tenure == tenure }) {
		t.open.after = append(t.open.after, f)
		f = func() {}
	}
	t.mu.Unlock()
	f()
}

// Close implements [driver.Receiver]. What is answered for is committed; the rest is left to the broker.
func (t *txReceiver) Close(ctx context.Context) error {
	var err error
	t.closing.Do(func() {
		t.mu.Lock()
		for _, timer := range t.timers {
			timer.Stop()
		}
		open := t.open
		mine := open != nil && !open.ending
		if mine {
			open.ending = true
		}
		t.mu.Unlock()
		switch {
		case mine:
			t.end(ctx, open)
		case open != nil:
			select {
			case <-open.over:
			case <-ctx.Done():
			}
		}
		close(t.done)
		err = t.recv.Close(ctx)
		t.beside.Wait()
		close(t.revocations)
	})
	return err
}

// stuck is what keeps transactions from being committed, and why; empty where nothing does, and of a nil receiver.
func (t *txReceiver) stuck() (cause, detail string) {
	if t == nil {
		return "", ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cause, t.detail
}

// committed is how many messages were settled by commits.
func (t *txReceiver) committed() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.progress
}
