package drivertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func sequenceCases() []Case {
	return []Case{
		{
			Name:     "order",
			Sentence: "The records of a key come in the order in which one sender sent them, at whatever receiver.",
			kinds:    ordered, Run: keyOrder,
		},
		{
			Name:     "one-owner",
			Sentence: "While a delivery of a key is unsettled at one receiver, no other receiver gets any of that key.",
			kinds:    ordered, Run: keyOneOwner,
		},
		{
			Name:     "keys-apart",
			Sentence: "An unsettled key does not keep other keys from coming.",
			kinds:    ordered, Run: keysApart,
		},
		{
			Name:     "re-enter",
			Sentence: "A tenure that is given up as a whole re-enters in publish order, without what was settled of it.",
			kinds:    ordered, Run: reEnter,
		},
		{
			Name:     "hand-over",
			Sentence: "When an owner closes, the next gets the rest of its keys in publish order, and got none of them before.",
			kinds:    ordered, Run: handOver,
		},
		{
			Name:     "lease-ended",
			Sentence: "When the leases of an owner end, another gets all that was not settled of its key, and what came after, in publish order.",
			Needs:    []Ability{Lease}, kinds: ordered, Run: keyLeaseEnded,
		},
		{
			Name: "revoked",
			Sentence: "When the tenure of an owner ends, another gets all that was not settled of its key, and what came after, " +
				"in publish order.",
			Needs: []Ability{Revoke}, Hooks: []string{HookRevoke}, kinds: ordered, Run: keyRevoked,
		},
	}
}

func keyOrder(t *T) {
	l := t.line()
	c := t.crowd()
	for range 2 {
		r := l.receiver()
		r.none()
		c.consume(r)
	}
	const keys = 20
	records := t.batch(t.h.Messages)
	for i := range records {
		records[i].Key = fmt.Appendf(nil, "key-%d", (i*7+i/3)%keys)
	}
	c.send(l.sender(), records)
	if rep := c.finish(); !rep.Clean() || rep.Settled != len(records) {
		t.Errorf("two receivers, %d keys: %v", keys, rep)
	}
}

// owner sends n records of the key, and returns the receiver that got them, the other one, and the deliveries.
func (l *line) owner(key string, n int, a, b *receiver) (owner, other *receiver, ds []*driver.Delivery) {
	t := l.t
	records := t.keyed(key, n)
	l.send(records...)
	for limit := time.Now().Add(t.h.Wait); time.Now().Before(limit); {
		for _, r := range []*receiver{a, b} {
			ds = r.upTo(1, t.h.Quiet/5)
			if len(ds) == 0 {
				continue
			}
			owner, other = r, b
			if r == b {
				other = a
			}
			ds = append(ds, owner.take(n-1)...)
			t.wantOrder(ds, records)
			return owner, other, ds
		}
	}
	t.Fatalf("of %d records of key %q none came to either receiver", n, key)
	return nil, nil, nil
}

func (t *T) wantOrder(ds []*driver.Delivery, records []driver.Record) {
	if got, want := ids(ds), recordIDs(records); !slices.Equal(got, want) {
		t.Errorf("came in the order %q, want %q", got, want)
	}
}

// two opens two receivers and lets each take its share.
func (l *line) two() (a, b *receiver) {
	a, b = l.receiver(), l.receiver()
	for range 2 {
		a.none()
		b.none()
	}
	return a, b
}

func keyOneOwner(t *T) {
	l := t.line()
	a, b := l.two()
	owner, other, first := l.owner("k", 3, a, b)
	more := t.keyed("k", 3)
	l.send(more...)
	other.none()
	// The rest comes to the owner, at once or when the first are settled.
	owner.done(first...)
	ds := owner.take(len(more))
	t.wantOrder(ds, more)
	owner.done(ds...)
	other.none()
}

func keysApart(t *T) {
	l := t.line()
	r := l.receiver()
	blocked := t.keyed("blocked", 1)
	l.send(blocked...)
	held := r.expect(blocked...)
	const keys = 10
	records := t.batch(keys)
	for i := range records {
		records[i].Key = fmt.Appendf(nil, "free-%d", i)
	}
	l.send(records...)
	r.done(r.expect(records...)...)
	r.done(held...)
}

func reEnter(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 8)
	l.send(records...)
	ds := r.take(len(records))
	t.wantOrder(ds, records)
	r.done(ds[0], ds[1])
	r.close()
	next := l.receiver()
	again := next.take(len(records) - 2)
	t.wantOrder(again, records[2:])
	next.done(again...)
	next.none()
}

func handOver(t *T) {
	l := t.line()
	a, b := l.two()
	owner, other, first := l.owner("k", 3, a, b)
	more := t.keyed("k", 4)
	l.send(more...)
	other.none()
	want := append(ids(first), recordIDs(more)...)
	owner.close()
	rest := other.take(len(want))
	if got := ids(rest); !slices.Equal(got, want) {
		t.Errorf("after the owner's close came %q, want %q", got, want)
	}
	other.done(rest...)
}

func keyLeaseEnded(t *T) {
	l := t.line()
	r := l.receiver().letExpire()
	records := t.keyed("k", 6)
	l.send(records[:4]...)
	ds := r.take(4)
	t.wantOrder(ds, records[:4])
	r.done(ds[0])
	l.send(records[4:]...)
	t.pause(r.info.Lease)
	next := l.receiver()
	back := next.take(len(records) - 1)
	t.wantOrder(back, records[1:])
	next.done(back...)
	next.none()
}

func keyRevoked(t *T) {
	l := t.line()
	r := l.receiver()
	r.byHand()
	records := t.keyed("k", 6)
	l.send(records[:4]...)
	ds := r.take(4)
	t.wantOrder(ds, records[:4])
	r.done(ds[0])
	l.send(records[4:]...)
	t.h.Revoke(t, r.r)
	for tenure := range byTenure(ds[1:]) {
		rv := r.revoked(tenure)
		if rv.Done != nil {
			rv.Done()
		}
		r.expired(rv)
	}
	next := l.receiver()
	back := next.take(len(records) - 1)
	t.wantOrder(back, records[1:])
	next.done(back...)
	next.none()
}
