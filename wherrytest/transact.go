package wherrytest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// A txReceiver writes down what is received, and what its transactions come to. It has the methods of every ability, as a
// receiver has.
type txReceiver struct {
	inner   driver.TxReceiver
	account *account
}

var (
	_ driver.Extender = (*txReceiver)(nil)
	_ driver.Revoker  = (*txReceiver)(nil)
	_ driver.Waiter   = (*txReceiver)(nil)
)

// Next notes what it brings.
func (x *txReceiver) Next(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, driver.Tx, error) {
	got, inner, err := x.inner.Next(ctx, dst)
	if inner == nil {
		return got, nil, err
	}
	in := slices.Clone(got[len(dst):]) // the engine moves what it has in its buffer
	return got, &tx{inner: inner, account: x.account, in: in, hands: x.account.ledger.received(x.account, in)}, err
}

// Info is the real receiver's.
func (x *txReceiver) Info() driver.Info { return x.inner.Info() }

// Close ends the receiver; what it has in hand goes back.
func (x *txReceiver) Close(ctx context.Context) error {
	err := x.inner.Close(ctx)
	x.account.close()
	return err
}

// Extend renews leases.
func (x *txReceiver) Extend(ctx context.Context, batch []*driver.Delivery) error {
	return x.account.extend(ctx, x.inner, batch)
}

// Revocations are the real receiver's.
func (x *txReceiver) Revocations() <-chan driver.Revocation { return x.account.revocations(x.inner) }

// Waiting is why the real receiver brings nothing.
func (x *txReceiver) Waiting() string { return x.account.waiting(x.inner) }

// A tx is a transaction, of which nothing is in the books before its end.
type tx struct {
	inner   driver.Tx
	account *account
	in      []*driver.Delivery
	hands   []*hand // of each
	out     []outgoing
	over    bool
}

var errAborted = errors.New("its transaction was aborted")

// Send keeps what became part of the transaction.
func (t *tx) Send(ctx context.Context, to driver.Target, batch []driver.Record) error {
	out := outgoingOf(to, batch)
	err := t.inner.Send(ctx, to, batch)
	for i := range out {
		if e := driver.EntryError(err, i); e != nil {
			t.account.ledger.refused(&out[i], e)
			continue
		}
		t.out = append(t.out, out[i])
	}
	return err
}

// Commit books all of the transaction, or nothing of it.
func (t *tx) Commit(ctx context.Context, done []driver.Settlement) error {
	if t.over {
		return t.inner.Commit(ctx, done)
	}
	l := t.account.ledger
	l.ending(t)
	err := t.inner.Commit(ctx, done)
	switch {
	case err == nil:
		l.committed(t, done)
	case errors.Is(err, driver.ErrUnconfirmed):
		l.undone(t, "perhaps ", fmt.Errorf("it is not known whether its transaction was committed: %w", err))
	default:
		l.undone(t, "not ", fmt.Errorf("its transaction was not committed: %w", err))
	}
	return err
}

// Abort books that what was sent was not published.
func (t *tx) Abort(ctx context.Context) error {
	if t.over {
		return t.inner.Abort(ctx)
	}
	l := t.account.ledger
	l.ending(t)
	err := t.inner.Abort(ctx)
	l.undone(t, "not ", errAborted)
	return err
}

// refused writes down a record that did not become part of its transaction.
func (l *ledger) refused(o *outgoing, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !o.rec.Unique { // a copy that is refused leaves the original where it is
		l.beginLocked(o)
		l.refusedLocked(o, err)
	}
	l.touchLocked()
}

// ending expects what a transaction sends: it can be received and handled before the commit returns.
func (l *ledger) ending(t *tx) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.over = true
	l.busy++
	for i := range t.out {
		l.beginLocked(&t.out[i])
	}
	l.touchLocked()
}

// committed notes what a transaction published and settled.
func (l *ledger) committed(t *tx, done []driver.Settlement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	for i := range t.out {
		l.confirmLocked(&t.out[i])
	}
	over := make(map[*driver.Delivery]bool, len(done))
	for _, s := range done {
		over[s.Delivery] = s.Verdict == driver.Done
	}
	for i, h := range t.hands {
		if over[t.in[i]] {
			l.doneLocked(h.at, h.copy)
		}
		l.leaveLocked(t, i, over[t.in[i]])
	}
	l.touchLocked()
}

// undone notes a transaction of which nothing happened, as far as is known. What it received stays expected.
func (l *ledger) undone(t *tx, known string, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	for i := range t.out {
		o := &t.out[i]
		l.unexpectLocked(o)
		o.write(step{at: o.at, text: known + "published: " + why.Error()})
	}
	for i, h := range t.hands {
		if !errors.Is(why, errAborted) {
			l.stories.add(h.id, step{at: h.at, text: why.Error()})
		}
		l.leaveLocked(t, i, false)
	}
	l.touchLocked()
}

// leaveLocked takes what a transaction received out of hand, unless the end of its tenure has done so before.
func (l *ledger) leaveLocked(t *tx, i int, done bool) {
	h, d := t.hands[i], t.in[i]
	if t.account.hands[d] == h {
		delete(t.account.hands, d)
	} else if !done {
		return
	}
	l.outOfHandLocked(h, done)
}
