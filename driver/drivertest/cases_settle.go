package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func settleCases() []Case {
	return []Case{
		{
			Name:     "settle/done",
			Sentence: "A delivery that was settled as Done is over: it does not come again, and nothing of it is left.",
			kinds:    settled, Run: settleDone,
		},
		{
			Name:     "settle/release",
			Sentence: "The zero verdict releases: the message comes again as it was, with its attempt unchanged.",
			kinds:    shared, Run: zeroVerdict,
		},
		{
			Name:     "settle/mixed",
			Sentence: "One batch may hold both verdicts in any order of its deliveries: what is Done is over, what is released comes again.",
			kinds:    shared, Run: mixedBatch,
		},
		{
			Name:     "settle/gap",
			Sentence: "Settling later deliveries does not settle an earlier one: after a crash it comes again.",
			kinds:    shared, Run: settleLater,
		},
		{
			Name:     "settle/many-releases",
			Sentence: "No number of releases ends a message or raises its attempt: after 25 it is still there.",
			kinds:    shared, Run: manyReleases,
		},
		{
			Name: "settle/double",
			Sentence: "A second settlement of a settled delivery is refused or does nothing; it never settles another, " +
				"not even one in the same memory.",
			kinds: settled, Run: settleTwice,
		},
		{
			Name:     "settle/stale-in-batch",
			Sentence: "A settlement that cannot be applied does not take its neighbours with it: they are settled, or say that they are not.",
			kinds:    settled, Run: staleInBatch,
		},
		{
			Name:     "settle/concurrent",
			Sentence: "Settle may be called from several goroutines beside Receive, and each nil is kept.",
			kinds:    settled, Run: settleConcurrently,
		},
		{
			Name:     "settle/ended-context",
			Sentence: "A Settle whose context has ended does as it says: nil is settled, and a failed entry may be settled again.",
			kinds:    settled, Run: settleEndedContext,
		},
	}
}

func settleDone(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.batch(10)
	l.send(records...)
	ds := r.expect(records...)
	r.done(ds[:1]...)
	r.done(ds[1:]...)
	r.none()
	r.close()
	l.empty()
	l.depth(func(d driver.Depth) bool { return max(d.Ready, d.Held, d.InFlight) <= 0 }, "nothing")
}

// depth waits until the broker's report satisfies ok, where there is an Inspector.
func (l *line) depth(ok func(driver.Depth) bool, want string) {
	i, is := l.b.(driver.Inspector)
	if !is {
		return
	}
	var d driver.Depth
	var err error
	if !l.t.eventually(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), l.t.h.Wait)
		defer cancel()
		d, err = i.Depth(ctx, l.source())
		return err == nil && ok(d)
	}) {
		l.t.Errorf("Depth is %+v, %v; want %s", d, err, want)
	}
}

func zeroVerdict(t *T) {
	l := t.line()
	r := l.receiver()
	rec := t.record()
	rec.Control = fullControl()
	l.send(rec)
	r.must(driver.Settlement{Delivery: r.expect(rec)[0]})
	r.must(driver.Settlement{Delivery: r.expect(rec)[0]})
	r.done(r.expect(rec)...)
	r.none()
}

func mixedBatch(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.batch(8)
	l.send(records...)
	r.expect(records...)
	byID := r.inHand()
	var batch []driver.Settlement
	var back []driver.Record
	for _, i := range []int{3, 1, 4, 2, 0, 7, 5, 6} {
		s := driver.Settlement{Delivery: byID[records[i].ID.String()], Verdict: driver.Done}
		if i%2 == 1 {
			s.Verdict = driver.Release
			back = append(back, records[i])
		}
		batch = append(batch, s)
	}
	r.must(batch...)
	r.done(r.expect(back...)...)
	r.none()
}

// inHand returns what is held by id.
func (r *receiver) inHand() map[string]*driver.Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	byID := make(map[string]*driver.Delivery, len(r.held))
	for d := range r.held {
		byID[d.ID.String()] = d
	}
	return byID
}

func settleLater(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 10)
	l.send(records...)
	r.expect(records...)
	byID := r.inHand()
	first := records[0].ID.String()
	for i := range records {
		if d := byID[records[i].ID.String()]; i > 0 {
			r.done(d)
		}
	}
	r.close()
	next := l.receiver()
	ds := next.upTo(len(records), t.h.Quiet)
	if len(ds) == 0 {
		ds = next.take(1)
	}
	if !slices.Contains(ids(ds), first) {
		t.Errorf("the first of 10 was not settled, the others were; then came %q without it", ids(ds))
	}
	next.done(ds...)
}

func manyReleases(t *T) {
	l := t.line()
	r := l.receiver()
	rec := t.record()
	rec.Control.Attempt = 2
	l.send(rec)
	const releases = 25
	for i := range releases {
		ds := r.upTo(1, t.h.Wait)
		if len(ds) == 0 {
			t.Fatalf("after %d releases the message is gone; last error: %v", i, r.failure())
		}
		if got := ds[0].Control.Attempt; got != 2 {
			t.Errorf("after %d releases the attempt is %d, was 2", i, got)
		}
		r.release(ds...)
	}
	r.done(r.expect(rec)...)
}

// stale returns a delivery that names the same as d and is no longer in the driver's sight.
func stale(d *driver.Delivery) *driver.Delivery {
	h := hold(d)
	return &h.copy
}

func settleTwice(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	var old []*driver.Delivery
	first := t.keyed("k", 4)
	s.send(first...)
	for _, d := range r.expect(first...) {
		old = append(old, stale(d))
		r.done(d)
	}
	// The next ones may live where the first ones did.
	next := t.keyed("k", 4)
	s.send(next...)
	r.expect(next...)
	for _, verdict := range []driver.Verdict{driver.Done, driver.Release} {
		_ = r.raw(context.Background(), settlements(verdict, old...)...)
	}
	if len(r.upTo(1, t.h.Quiet)) > 0 {
		t.Errorf("a second settlement, a release, brought a message again")
	}
	r.close()
	again := l.receiver()
	again.done(again.expect(next...)...)
	again.none()
}

func staleInBatch(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 6)
	l.send(records...)
	ds := r.expect(records...)
	old := stale(ds[0])
	r.done(ds[0])

	batch := settlements(driver.Done, ds[1:]...)
	batch = slices.Insert(batch, 2, driver.Settlement{Delivery: old, Verdict: driver.Done})
	r.forget(ds[1:]...)
	ctx := t.soon()
	err := r.raw(ctx, batch...)
	wantBack := map[string]bool{}
	for i := range batch {
		if entry := driver.EntryError(err, i); entry != nil && batch[i].Delivery != old {
			wantBack[batch[i].Delivery.ID.String()] = true // not settled, so still as it was
		}
	}
	r.close()
	next := l.receiver()
	back := next.upTo(len(wantBack)+1, t.h.Quiet)
	for _, d := range back {
		if !wantBack[d.ID.String()] {
			t.Errorf("%s came again; its settlement, beside a stale one, had returned nil", d.ID)
		}
		delete(wantBack, d.ID.String())
	}
	for id := range wantBack {
		t.Errorf("%s is gone; its settlement, beside a stale one, had failed: %v", id, err)
	}
	next.done(back...)
}

// forget drops deliveries whose settlement the case judges itself.
func (r *receiver) forget(ds ...*driver.Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.untilFree(settlements(driver.Done, ds...))
	for _, d := range ds {
		delete(r.held, d)
	}
}

func settleConcurrently(t *T) {
	l := t.line()
	records := t.batch(min(t.h.Messages, 500))
	src := l.source()
	src.Prefetch = len(records)
	r := l.receiverOf(src)
	l.send(records...)
	work := make(chan []*driver.Delivery, len(records)) // it never blocks, even when its readers have failed
	var wg sync.WaitGroup
	const callers = 4
	for range callers {
		wg.Go(func() {
			for ds := range work {
				r.done(ds...)
			}
		})
	}
	var got []string
	t.protect(func() {
		for limit := time.Now().Add(t.h.Wait); len(got) < len(records) && time.Now().Before(limit); {
			ds := r.upTo(7, time.Until(limit))
			got = append(got, ids(ds)...)
			work <- ds
		}
	})
	close(work)
	wg.Wait()
	t.wantAll(got, records)
	r.close()
	l.empty()
}

func settleEndedContext(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 3)
	l.send(records...)
	ds := r.expect(records...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	batch := settlements(driver.Done, ds...)
	if err := r.settle(ctx, batch...); err != nil {
		var again []driver.Settlement
		for i := range batch {
			entry := driver.EntryError(err, i)
			if entry != nil && !errors.Is(entry, driver.ErrRevoked) {
				again = append(again, batch[i])
			}
		}
		r.must(again...)
	}
	r.close()
	l.empty()
}
