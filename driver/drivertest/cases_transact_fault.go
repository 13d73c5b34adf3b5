package drivertest

import (
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// Transactions that do not end well.
func transactFaultCases() []Case {
	needs := []Ability{Transact, Queue}
	return []Case{
		{
			Name:     "transact/keeps-memory",
			Sentence: "A delivery that a transaction did not settle stays as it is, while others get the message and settle it.",
			Needs:    needs, Run: abortKeepsMemory,
		},
		{
			Name:     "transact/foreign",
			Sentence: "One delivery that is not of the transaction fails the whole commit with ErrRevoked: nothing of it is done.",
			Needs:    needs, Run: foreignFailsCommit,
		},
		{
			Name:     "transact/cut",
			Sentence: "A connection that is lost with a transaction open leaves nothing of it, and all of its Next comes again, unless a Commit afterwards does all of it.",
			Needs:    needs, Hooks: []string{HookCut}, Run: cutAborts,
		},
		{
			Name:     "transact/revoked",
			Sentence: "Once a tenure has ended, a commit that settles something of it is ErrRevoked and does nothing: all of its Next comes again.",
			Needs:    needs, Hooks: []string{HookRevokeTx}, Run: revokedFailsCommit,
		},
	}
}

func abortKeepsMemory(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	records := t.batch(4)
	l.send(records...)
	x := l.transacted()
	_, tx := x.next(4) // watched until the end of the case, as is what no commit settles
	x.abort(tx)
	ds, tx := x.next(4)
	x.send(tx, out.target(), t.record())
	x.commit(tx, ds[:2]...)
	ds, tx = x.next(2)
	x.commit(tx, ds...)
	for range 20 {
		l.send(t.batch(4)...)
		ds, tx = x.next(4)
		x.commit(tx, ds...)
	}
	x.close()
	x.unchanged()
	l.empty()
}

func foreignFailsCommit(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	records := t.batch(3)
	l.send(records...)
	x := l.transacted()
	stale, tx := x.next(3)
	x.abort(tx)
	ds, tx := x.next(3)
	x.send(tx, out.target(), t.record())
	err := tx.Commit(t.soon(), settlements(driver.Done, ds[0], stale[1], ds[2]))
	if !errors.Is(err, driver.ErrRevoked) {
		t.Errorf("Commit with a delivery of a transaction that is over returned %v, want ErrRevoked", err)
	}
	x.close()
	out.empty()
	r := l.receiver()
	r.done(r.expect(records...)...)
}

func cutAborts(t *T) {
	other := t.Open()
	for _, aborts := range []bool{true, false} {
		l, out := t.lineOf(queueKind), t.lineOf(queueKind)
		records := t.batch(2)
		l.send(records...)
		x := l.over(other).transacted()
		ds, tx := x.next(2)
		sent := t.record()
		x.send(tx, out.target(), sent)
		mend := t.h.Cut(t, other)
		if aborts {
			_ = tx.Abort(t.soon()) // one that cannot be told is an abort all the same
		}
		mend()
		err := tx.Commit(t.soon(), settlements(driver.Done, ds...))
		if err == nil {
			x.held = nil // settled, and the driver's again
		}
		if err == nil && aborts {
			t.Error("Commit after the connection was lost and the transaction aborted returned nil")
		}
		x.close()
		reader := out.receiver()
		seen := reader.upTo(2, t.h.Quiet)
		all := err == nil
		if errors.Is(err, driver.ErrUnconfirmed) {
			all = len(seen) > 0 // either, but wholly
		}
		if want := map[bool]int{true: 1}[all]; len(seen) != want {
			t.Errorf("Commit after a cut returned %v, and of the one record that was sent %d are there, want %d", err, len(seen), want)
		}
		if all {
			l.empty()
			continue
		}
		r := l.receiver()
		r.done(r.expect(records...)...)
	}
}

func revokedFailsCommit(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	records := t.batch(3)
	l.send(records...)
	x := l.transacted()
	ds, tx := x.next(3)
	x.send(tx, out.target(), t.record())
	t.h.RevokeTx(t, x.r)
	x.ended()
	if err := tx.Commit(t.soon(), settlements(driver.Done, ds...)); !errors.Is(err, driver.ErrRevoked) {
		t.Errorf("Commit after the tenure ended returned %v, want ErrRevoked", err)
	}
	x.close()
	out.empty()
	r := l.receiver()
	r.done(r.expect(records...)...)
}

// ended waits until a tenure of the receiver has ended, which it is told.
func (x *transacted) ended() {
	t := x.t
	rv, ok := x.r.(driver.Revoker)
	if !ok {
		t.Fatalf("a receiver of transactions whose tenures can end is no Revoker: %T", x.r)
	}
	timer := time.NewTimer(t.h.Wait)
	defer timer.Stop()
	select {
	case told := <-rv.Revocations():
		if !told.Lost {
			t.pause(time.Until(told.Until) + t.h.slack())
		}
	case <-timer.C:
		t.Fatalf("no revocation was told within %v", t.h.Wait)
	}
}
