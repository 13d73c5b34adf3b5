package drivertest

import (
	"context"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func transactCases() []Case {
	needs := []Ability{Transact, Queue}
	return []Case{
		{
			Name:     "transact/exactly",
			Sentence: "Commit settles exactly what it was given; what else its Next brought comes again.",
			Needs:    needs, Run: commitsExactly,
		},
		{
			Name:     "transact/atomic",
			Sentence: "What is sent in a transaction is seen once it was committed, and not before.",
			Needs:    needs, Run: sendsAtomically,
		},
		{
			Name:     "transact/abort",
			Sentence: "Abort sends nothing and settles nothing: all of its Next comes again.",
			Needs:    needs, Run: abortsWhole,
		},
		{
			Name:     "transact/close",
			Sentence: "A transaction that is open when its receiver closes is aborted.",
			Needs:    needs, Run: closeAborts,
		},
		{
			Name:     "transact/over",
			Sentence: "Next waits for nobody: while a transaction is open it is an error, and a transaction that is over commits nothing.",
			Needs:    needs, Run: oneAtATime,
		},
		{
			Name:     "transact/due",
			Sentence: "A record that is sent in a transaction arrives when it is due, and never earlier.",
			Needs:    append(needs, Hold), Run: sendsDue,
		},
		{
			Name:     "transact/group",
			Sentence: "A member of a group settles for its group alone, in transactions too.",
			Needs:    append(needs, Group), Run: commitsForGroup,
		},
	}
}

// A transacted receiver is a driver.TxReceiver with bounded calls. What it was not told to settle must stay as it is.
type transacted struct {
	t    *T
	r    driver.TxReceiver
	held []held // of the transaction that was opened last
	left []held // what transactions before it did not settle
}

func (l *line) transacted() *transacted {
	t := l.t
	ctx := t.soon()
	b, ok := l.b.(driver.Transactor)
	if !ok {
		t.Fatalf("%T is no Transactor", l.b)
	}
	r, err := b.OpenTransacted(ctx, l.transactedSource())
	if err != nil {
		t.Fatalf("OpenTransacted: %v", err)
	}
	x := &transacted{t: t, r: r}
	t.Cleanup(x.unchanged)
	t.Cleanup(x.close)
	return x
}

func (l *line) transactedSource() driver.Source {
	s := l.source()
	s.Manner = driver.Transacted
	return s
}

// unchanged looks at the memory of what was not settled.
func (x *transacted) unchanged() {
	for _, h := range slices.Concat(x.left, x.held) {
		if what := h.changed(); what != "" {
			x.t.Errorf("delivery %s was not settled and has changed: %s", h.copy.ID, what)
		}
	}
}

func (x *transacted) close() { x.t.closing("TxReceiver.Close", x.r.Close) }

// next opens a transaction with n deliveries.
func (x *transacted) next(n int) ([]*driver.Delivery, driver.Tx) {
	t := x.t
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
	defer cancel()
	for ctx.Err() == nil {
		ds, tx, err := x.r.Next(ctx, make([]*driver.Delivery, 0, n))
		if err != nil || len(ds) == n {
			if err != nil {
				t.Fatalf("Next: %v", err)
			}
			x.left, x.held = append(x.left, x.held...), nil
			for _, d := range ds {
				x.held = append(x.held, hold(d))
			}
			return ds, tx
		}
		// It brought fewer than there are: give them back and ask again, a little later, or no time would pass in process.
		x.abort(tx)
		t.pause(t.h.slack() / 20)
	}
	t.Fatalf("Next did not bring %d deliveries within %v", n, t.h.Wait)
	return nil, nil
}

func (x *transacted) send(tx driver.Tx, to driver.Target, records ...driver.Record) {
	for _, part := range x.limits(to).parts(records) {
		batch := cloneRecords(part)
		if err := tx.Send(x.t.soon(), to, batch); err != nil {
			x.t.Fatalf("Tx.Send: %v", err)
		}
		poison(batch)
	}
}

// limits returns a sender to the target that sends nothing: the limits of its calls are those of Tx.Send.
func (x *transacted) limits(to driver.Target) *sender {
	t := x.t
	s, err := t.Broker().OpenSender(t.soon(), to)
	if err != nil {
		t.Fatalf("OpenSender(%s): %v", to.Topic.Name, err)
	}
	defer t.closing("Sender.Close", s.Close)
	return &sender{t: t, s: s, limits: s.Limits()}
}

func (x *transacted) commit(tx driver.Tx, ds ...*driver.Delivery) {
	x.held = slices.DeleteFunc(x.held, func(h held) bool { return slices.Contains(ds, h.d) })
	if err := tx.Commit(x.t.soon(), settlements(driver.Done, ds...)); err != nil {
		x.t.Fatalf("Commit: %v", err)
	}
}

func (x *transacted) abort(tx driver.Tx) {
	if err := tx.Abort(x.t.soon()); err != nil {
		x.t.Fatalf("Abort: %v", err)
	}
}

func commitsExactly(t *T) {
	l := t.lineOf(queueKind)
	records := t.batch(4)
	l.send(records...)
	x := l.transacted()
	ds, tx := x.next(4)
	handled := ds[1].ID.String()
	x.commit(tx, ds[1])
	x.close()
	r := l.receiver()
	rest := slices.DeleteFunc(slices.Clone(records), func(r driver.Record) bool { return r.ID.String() == handled })
	r.done(r.expect(rest...)...)
	r.none()
}

func sendsAtomically(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	reader := out.receiver()
	l.send(t.record())
	x := l.transacted()
	ds, tx := x.next(1)
	results := t.batch(3)
	x.send(tx, out.target(), results...)
	reader.none()
	x.commit(tx, ds...)
	reader.done(reader.expect(results...)...)
	x.close()
	l.empty()
}

func abortsWhole(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	records := t.batch(3)
	l.send(records...)
	x := l.transacted()
	_, tx := x.next(3)
	x.send(tx, out.target(), t.batch(2)...)
	x.abort(tx)
	out.empty()
	ds, tx := x.next(3)
	if !sameSet(ids(ds), recordIDs(records)) {
		t.Errorf("after an abort came %q, want %q", ids(ds), recordIDs(records))
	}
	x.commit(tx, ds...)
	x.close()
	l.empty()
}

func closeAborts(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	records := t.batch(2)
	l.send(records...)
	x := l.transacted()
	_, tx := x.next(2)
	x.send(tx, out.target(), t.record())
	x.close()
	out.empty()
	r := l.receiver()
	r.done(r.expect(records...)...)
}

func oneAtATime(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	records := t.batch(2)
	l.send(records...)
	x := l.transacted()
	ds, tx := x.next(2)
	if more, _, err := x.r.Next(t.soon(), make([]*driver.Delivery, 0, 1)); err == nil || len(more) > 0 {
		t.Errorf("Next while a transaction is open brought %d deliveries and %v, want an error", len(more), err)
	}
	x.commit(tx, ds...)
	if err := tx.Send(t.soon(), out.target(), t.batch(1)); err == nil {
		t.Error("Send in a transaction that is over returned nil")
	}
	if err := tx.Commit(t.soon(), nil); err == nil {
		t.Error("Commit of a transaction that is over returned nil")
	}
	x.abort(tx)
	x.close()
	out.empty()
	l.empty()
}

func sendsDue(t *T) {
	l, out := t.lineOf(queueKind), t.lineOf(queueKind)
	l.send(t.record())
	reader := out.receiver()
	x := l.transacted()
	ds, tx := x.next(1)
	late := t.record()
	due := time.Now().Add(t.h.Quiet)
	late.Due = driver.StampOf(due)
	x.send(tx, out.target(), late)
	x.commit(tx, ds...)
	got := reader.expect(late)
	if now := time.Now(); now.Before(due) {
		t.Errorf("it came %v before it was due", due.Sub(now))
	}
	reader.done(got...)
}

func commitsForGroup(t *T) {
	l := t.lineOf(groupKind)
	other := l.of("other")
	r := other.receiver()
	records := t.batch(2)
	l.send(records...)
	x := l.transacted()
	ds, tx := x.next(2)
	x.commit(tx, ds...)
	x.close()
	l.empty()
	r.done(r.expect(records...)...)
}
