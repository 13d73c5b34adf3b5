package drivertest

import (
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func revokeCases() []Case {
	needs, hooks := []Ability{Revoke}, []string{HookRevoke}
	return []Case{
		{
			Name:     "revoke/closed",
			Sentence: "Close closes the channel of revocations.",
			Needs:    needs, kinds: settled, Run: revocationsClosed,
		},
		{
			Name:     "revoke/settle-until",
			Sentence: "A tenure that ends is told; what is settled of it before Until is settled, and the rest is given to another when Done is called.",
			Needs:    needs, Hooks: hooks, kinds: settled, Run: settleUntil,
		},
		{
			Name: "revoke/late-settlement",
			Sentence: "Once a tenure has ended, settling of it is ErrRevoked, and touches neither the new owner's delivery nor the " +
				"neighbours in the batch.",
			Needs: needs, Hooks: hooks, kinds: settled, Run: lateAfterRevocation,
		},
		{
			Name:     "revoke/unanswered",
			Sentence: "A revocation that nobody answers holds nobody up for longer than Until: then another gets what was in hand.",
			Needs:    needs, Hooks: hooks, kinds: settled, Run: revocationUnanswered,
		},
		{
			Name:     "revoke/new-tenure",
			Sentence: "What comes after a revocation belongs to a tenure with a number that was not used before.",
			Needs:    needs, Hooks: hooks, kinds: settled, Run: tenureIsNew,
		},
		{
			Name:     "revoke/keeps-memory",
			Sentence: "A delivery stays as it is after its tenure ended and after another received and settled the message.",
			Needs:    needs, Hooks: hooks, kinds: settled, Run: revokeKeepsMemory,
		},
	}
}

func revocationsClosed(t *T) {
	l := t.line()
	r, err := l.tryReceiver(l.source())
	if err != nil {
		t.Fatalf("opening a %s: %v", l.kind.name, err)
	}
	rv, ok := r.(driver.Revoker)
	if !ok {
		t.Fatalf("a receiver of this broker is no Revoker, though another was")
	}
	c := rv.Revocations()
	t.closing("Receiver.Close", r.Close)
	t.closing("Receiver.Close again", r.Close)
	timer := time.NewTimer(t.h.Wait)
	defer timer.Stop()
	for {
		select {
		case _, open := <-c:
			if !open {
				return
			}
		case <-timer.C:
			t.Fatalf("the channel was not closed within %v", t.h.Wait)
		}
	}
}

// byTenure sorts deliveries by their tenure.
func byTenure(ds []*driver.Delivery) map[uint64][]*driver.Delivery {
	m := map[uint64][]*driver.Delivery{}
	for _, d := range ds {
		m[d.Tenure] = append(m[d.Tenure], d)
	}
	return m
}

func settleUntil(t *T) {
	l := t.line()
	r := l.receiver()
	r.byHand()
	records := t.keyed("k", 6)
	l.send(records...)
	tenures := byTenure(r.expect(records...))
	t.h.Revoke(t, r.r)
	want := len(records)
	ended := map[string]bool{}
	for tenure, ds := range tenures {
		rv := r.revoked(tenure)
		if !rv.Lost && time.Until(rv.Until) > 0 {
			half := ds[:(len(ds)+1)/2]
			for _, d := range half {
				ended[d.ID.String()] = true
			}
			r.done(half...)
			want -= len(half)
		}
		if rv.Done != nil {
			rv.Done()
		}
	}
	next := l.receiver()
	back := next.take(want)
	for _, d := range back {
		if ended[d.ID.String()] {
			t.Errorf("%s came again, though it was settled before Until", d.ID)
		}
	}
	next.done(back...)
	r.close()
	next.none()
}

// revoke revokes what r holds and returns the receiver that got it, with its deliveries.
func (l *line) revoke(r *receiver, held []*driver.Delivery, records []driver.Record) (*receiver, []*driver.Delivery) {
	t := l.t
	t.h.Revoke(t, r.r)
	for tenure := range byTenure(held) {
		rv := r.revoked(tenure)
		if rv.Done != nil {
			rv.Done()
		}
		r.expired(rv)
	}
	next := l.receiver()
	ds := next.expect(records...)
	return next, ds
}

func lateAfterRevocation(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	r.byHand()
	records := t.keyed("k", 4)
	s.send(records...)
	old := r.expect(records...)
	next, ds := l.revoke(r, old, records)
	batch := settlements(driver.Done, old...)
	batch[1].Verdict = driver.Release
	ctx := t.soon()
	err := r.settle(ctx, batch...)
	for i := range batch {
		if entry := driver.EntryError(err, i); !errors.Is(entry, driver.ErrRevoked) {
			t.Errorf("settling %s after its tenure ended: %v, want ErrRevoked", records[i].ID, entry)
		}
	}
	third := l.receiver()
	third.none() // the late release gave nothing away
	next.done(ds[0])
	next.close()
	rest := third.take(len(records) - 1) // and the late done ended nothing
	third.done(rest...)
}

func revocationUnanswered(t *T) {
	l := t.line()
	r := l.receiver()
	r.byHand()
	records := t.keyed("k", 3)
	l.send(records...)
	held := r.expect(records...)
	t.h.Revoke(t, r.r)
	for tenure := range byTenure(held) {
		r.expired(r.revoked(tenure))
	}
	next := l.receiver()
	ds := next.expect(records...)
	err := r.settle(t.soon(), settlements(driver.Done, held...)...)
	for i := range records {
		if entry := driver.EntryError(err, i); !errors.Is(entry, driver.ErrRevoked) {
			t.Errorf("settling %s after Until: %v, want ErrRevoked", records[i].ID, entry)
		}
	}
	next.done(ds...)
}

func tenureIsNew(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	r.byHand()
	used := map[uint64]bool{}
	const rounds = 3
	for range rounds {
		records := t.keyed("k", 2)
		s.send(records...)
		held := r.expect(records...)
		for tenure := range byTenure(held) {
			if used[tenure] {
				t.Errorf("tenure %d was used before its revocation, and again after", tenure)
			}
			used[tenure] = true
		}
		next, ds := l.revoke(r, held, records)
		next.done(ds...)
		next.close()
	}
}

func revokeKeepsMemory(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	r.byHand()
	records := t.keyed("k", 5)
	s.send(records...)
	old := r.expect(records...)
	next, ds := l.revoke(r, old, records)
	next.done(ds...)
	for range 20 {
		more := t.keyed("k", 5)
		s.send(more...)
		next.done(next.take(len(more))...)
	}
	r.close() // what it held is checked now, and again at the end of the case
	r.checkParted()
}
