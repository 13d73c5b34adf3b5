package drivertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func leaseCases() []Case {
	needs := []Ability{Lease}
	return []Case{
		{
			Name:     "lease/expires",
			Sentence: "A delivery that is neither settled nor extended within its lease comes to another receiver, as it was.",
			Needs:    needs, kinds: shared, Run: leaseExpires,
		},
		{
			Name:     "lease/extend",
			Sentence: "Deliveries that are extended stay with their receiver, however long and however many wait, and can be settled.",
			Needs:    needs, kinds: shared, Run: leaseExtended,
		},
		{
			Name:     "lease/lost",
			Sentence: "Extending answers for each delivery: ErrRevoked for a lease that was lost, nil for its neighbours.",
			Needs:    needs, kinds: shared, Run: leaseLost,
		},
		{
			Name: "lease/late-settlement",
			Sentence: "Settling after the lease was lost is ErrRevoked and does not touch the delivery of the message's new owner, " +
				"nor the neighbours in the batch.",
			Needs: needs, kinds: shared, Run: lateAfterLease,
		},
		{
			Name:     "lease/starts-at-receive",
			Sentence: "What waits at the broker or in the client uses up no lease: a delivery has a full lease when Receive returns it.",
			Needs:    needs, kinds: shared, Run: leaseStartsAtReceive,
		},
		{
			Name:     "lease/many-pending",
			Sentence: "What expired is found, however many deliveries that did not are in the way.",
			Needs:    needs, kinds: shared, Run: expiredBehindMany,
		},
		{
			Name:     "lease/extend-closed",
			Sentence: "After Close, Extend is ErrRevoked or ErrClosed for each delivery.",
			Needs:    needs, kinds: shared, Run: extendClosed,
		},
	}
}

func (r *receiver) extend(ds ...*driver.Delivery) error {
	t := r.t
	e, ok := r.r.(driver.Extender)
	if !ok {
		t.Fatalf("a receiver of this broker is no Extender, though another was")
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
	defer cancel()
	var err error
	if !t.within("Extend", 2*t.h.Wait, func() { err = e.Extend(ctx, slices.Clone(ds)) }) {
		t.FailNow()
	}
	if be, ok := errors.AsType[*driver.BatchError](err); ok && len(be.Errs) != len(ds) {
		t.Errorf("Extend of %d returned a BatchError of %d entries: %v", len(ds), len(be.Errs), err)
	}
	return err
}

// lose waits until what is in hand has come to another receiver, which it returns with its deliveries.
func (l *line) lose(r *receiver, records []driver.Record) (*receiver, []*driver.Delivery) {
	l.t.pause(r.info.Lease)
	next := l.receiver()
	ds := next.expect(records...)
	return next, ds
}

func leaseExpires(t *T) {
	l := t.line()
	r := l.receiver().letExpire()
	records := t.batch(3)
	l.send(records...)
	start := time.Now()
	r.expect(records...)
	next, ds := l.lose(r, records)
	if took := time.Since(start); took < r.info.Lease-t.h.slack() {
		t.Errorf("another receiver got them after %v; the lease is %v", took, r.info.Lease)
	}
	for _, d := range ds {
		if next.info.HasCount && d.Delivered != 2 {
			t.Errorf("%s came a second time with Delivered %d", d.ID, d.Delivered)
		}
	}
	next.done(ds...)
}

func leaseExtended(t *T) {
	l := t.line()
	r := l.receiver().letExpire()
	other := l.receiver()
	records := t.batch(10)
	l.send(records...)
	ds := r.expect(records...)
	const thirds = 8
	for range thirds {
		t.pause(r.info.Lease / 3)
		if err := r.extend(ds...); err != nil {
			t.Fatalf("Extend: %v", err)
		}
	}
	other.none()
	if err := r.extend(ds...); err != nil {
		t.Fatalf("Extend: %v", err)
	}
	r.done(ds...)
	r.close()
	other.none()
}

func leaseLost(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver().letExpire()
	old := t.batch(2)
	s.send(old...)
	lost := r.expect(old...)
	next, ds := l.lose(r, old)
	fresh := t.batch(2)
	s.send(fresh...)
	kept := r.expect(fresh...)
	err := r.extend(kept[0], lost[0], kept[1], lost[1])
	for i := range 4 {
		entry := driver.EntryError(err, i)
		switch isLost := i%2 == 1; {
		case isLost && !errors.Is(entry, driver.ErrRevoked):
			t.Errorf("Extend of a delivery whose lease was lost: %v, want ErrRevoked", entry)
		case !isLost && entry != nil:
			t.Errorf("Extend of its neighbour: %v", entry)
		}
	}
	r.done(kept...)
	next.done(ds...)
	r.none()
}

func lateAfterLease(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver().letExpire()
	old := t.batch(2)
	s.send(old...)
	lost := r.expect(old...)
	next, ds := l.lose(r, old)
	fresh := t.batch(2)
	s.send(fresh...)
	kept := r.expect(fresh...)
	batch := settlements(driver.Done, kept[0], lost[0], kept[1], lost[1])
	batch[3].Verdict = driver.Release
	ctx := t.soon()
	err := r.settle(ctx, batch...)
	for i := range batch {
		entry := driver.EntryError(err, i)
		switch isLost := i%2 == 1; {
		case isLost && !errors.Is(entry, driver.ErrRevoked):
			t.Errorf("settling a delivery whose lease was lost: %v, want ErrRevoked", entry)
		case !isLost && entry != nil:
			t.Errorf("settling its neighbour: %v", entry)
		}
	}
	r.close()
	next.release(ds...) // both are still its own
	next.done(next.expect(old...)...)
	next.none()
}

func leaseStartsAtReceive(t *T) {
	l := t.line()
	r := l.receiver().letExpire()
	other := l.receiver()
	records := t.batch(20)
	l.send(records...)
	var all []*driver.Delivery
	for range 4 {
		ds := r.take(5)
		all = append(all, ds...)
		// What this Receive did not return waits for most of a lease.
		for range 2 {
			t.pause(r.info.Lease / 3)
			if err := r.extend(all...); err != nil {
				t.Fatalf("Extend: %v", err)
			}
		}
	}
	t.wantAll(ids(all), records)
	r.done(all...)
	other.none()
}

func expiredBehindMany(t *T) {
	l := t.line()
	const kept, lost = 120, 30
	src := l.source()
	src.Prefetch = kept
	busy, dead := l.receiverOf(src).letExpire(), l.receiver().letExpire()
	s := l.sender()
	first := t.batch(kept)
	s.send(first...)
	inHand := busy.expect(first...)
	last := t.batch(lost)
	s.send(last...)
	dead.expect(last...)
	for range 4 {
		t.pause(busy.info.Lease / 3)
		if err := busy.extend(inHand...); err != nil {
			t.Fatalf("Extend: %v", err)
		}
	}
	next := l.receiver()
	next.done(next.expect(last...)...)
	busy.done(inHand...)
	next.none()
}

func extendClosed(t *T) {
	l := t.line()
	r := l.receiver().letExpire()
	records := t.batch(2)
	l.send(records...)
	ds := r.expect(records...)
	r.close()
	err := r.extend(ds...)
	for i := range ds {
		entry := driver.EntryError(err, i)
		if !errors.Is(entry, driver.ErrRevoked) && !errors.Is(entry, driver.ErrClosed) {
			t.Errorf("Extend after Close: %v, want ErrRevoked or ErrClosed", entry)
		}
	}
	next := l.receiver()
	next.done(next.expect(records...)...)
}
