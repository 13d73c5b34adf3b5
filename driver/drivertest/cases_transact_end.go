package drivertest

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// The ends of transactions, and of their receivers.
func transactEndCases() []Case {
	needs := []Ability{Transact, Queue}
	return []Case{
		{
			Name: "transact/close-wakes",
			Sentence: "Closing a receiver of transactions beside its Next ends that call with ErrClosed, and every later one; so does closing the " +
				"broker, after which none is opened.",
			Needs: needs, Run: closeWakesNext,
		},
		{
			Name:     "transact/close-commit",
			Sentence: "A Commit after its receiver was closed is ErrClosed or ErrRevoked, and does nothing.",
			Needs:    needs, Run: commitAfterClose,
		},
		{
			Name:     "transact/too-large",
			Sentence: "A record over the limit is ErrTooLarge and no part of the transaction; the rest is, and the transaction goes on.",
			Needs:    append([]Ability{Sized}, needs...), Run: tooLargeInTransaction,
		},
		{
			Name:     "transact/group-alone",
			Sentence: "A record that is sent to one group in a transaction reaches that group alone.",
			Needs:    append([]Ability{Group}, needs...), Run: transactionToGroup,
		},
	}
}

// waiting starts a Next that nothing ends but a close; what it returns gives the call's error, within Wait.
func (x *transacted) waiting() func() error {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		_, _, err := x.r.Next(ctx, make([]*driver.Delivery, 0, 1))
		result <- err
	}()
	return func() error {
		defer cancel()
		timer := time.NewTimer(x.t.h.Wait)
		defer timer.Stop()
		select {
		case err := <-result:
			return err
		case <-timer.C:
			x.t.Fatalf("the Next that was waiting still waits, %v after the close", x.t.h.Wait)
			return nil
		}
	}
}

func closeWakesNext(t *T) {
	other := t.Open()
	l := t.lineOf(queueKind).over(other)
	wakesNext(t, l, "TxReceiver.Close", func(x *transacted) { x.close() })
	wakesNext(t, l, "Broker.Close", func(*transacted) { t.closing("Broker.Close", other.Close) })
	b, ok := other.(driver.Transactor)
	if !ok {
		t.Fatalf("%T is no Transactor, though another was", other)
	}
	if _, err := b.OpenTransacted(t.soon(), l.transactedSource()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("OpenTransacted after Broker.Close: %v, want ErrClosed", err)
	}
}

func wakesNext(t *T, l *line, what string, closing func(x *transacted)) {
	x := l.transacted()
	waits := x.waiting()
	t.pause(t.h.Quiet / 5)
	closing(x)
	if err := waits(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the Next that waited at %s returned %v, want ErrClosed", what, err)
	}
	for range 2 {
		if _, _, err := x.r.Next(t.soon(), make([]*driver.Delivery, 0, 1)); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Next after %s: %v, want ErrClosed", what, err)
		}
	}
}

func commitAfterClose(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	records := t.batch(2)
	l.send(records...)
	x := l.transacted()
	ds, tx := x.next(2)
	x.send(tx, out.target(), t.record())
	x.close()
	err := tx.Commit(t.soon(), settlements(driver.Done, ds...))
	if !errors.Is(err, driver.ErrClosed) && !errors.Is(err, driver.ErrRevoked) {
		t.Errorf("Commit after TxReceiver.Close returned %v, want ErrClosed or ErrRevoked", err)
	}
	out.empty()
	r := l.receiver()
	r.done(r.expect(records...)...)
}

func tooLargeInTransaction(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	reader := out.receiver()
	l.send(t.record())
	x := l.transacted()
	ds, tx := x.next(1)
	first, large, last := t.record(), t.record(), t.record()
	x.send(tx, out.target(), first)
	most := x.limits(out.target()).limits.MaxRecord
	if most == 0 {
		t.Logf("records of queues have no limit")
		x.commit(tx, ds...)
		return
	}
	large.Body = make([]byte, most)
	err := tx.Send(t.soon(), out.target(), []driver.Record{large})
	if e := driver.EntryError(err, 0); !errors.Is(e, driver.ErrTooLarge) {
		t.Errorf("Tx.Send of %d bytes, over the limit of %d: %v, want ErrTooLarge", large.Size(), most, e)
	}
	x.send(tx, out.target(), last)
	x.commit(tx, ds...)
	reader.done(reader.expect(first, last)...)
	reader.none()
	x.close()
	l.empty()
}

func transactionToGroup(t *T) {
	l := t.lineOf(queueKind)
	spread := t.lineOf(groupKind)
	spread.topic.Groups = []string{"one", "two"}
	one, two := spread.of("one"), spread.of("two")
	r1, r2 := one.receiver(), two.receiver()
	l.send(t.record())
	x := l.transacted()
	ds, tx := x.next(1)
	records := t.batch(3)
	x.send(tx, driver.Target{Topic: spread.topic, Group: "one"}, records...)
	x.commit(tx, ds...)
	r1.done(r1.expect(records...)...)
	r2.none()
	r1.none()
}
