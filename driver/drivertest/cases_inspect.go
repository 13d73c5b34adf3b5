package drivertest

import (
	"time"

	"github.com/wherryhq/wherry/driver"
)

func inspectCases() []Case {
	needs := []Ability{Inspect}
	return []Case{
		{
			Name:     "inspect/counts",
			Sentence: "Depth counts what is ready and what is in flight, or says -1 where it cannot know.",
			Needs:    needs, kinds: settled, Run: depthCounts,
		},
		{
			Name:     "inspect/held",
			Sentence: "Depth counts what is held, or says -1, and does not count it as ready before it is due.",
			Needs:    append([]Ability{Hold}, needs...), kinds: settled, Run: depthHeld,
		},
		{
			Name:     "inspect/prefetch",
			Sentence: "A receiver has no more in flight than its source's Prefetch.",
			Needs:    needs, kinds: settled, Run: depthPrefetch,
		},
		{
			Name:     "waiting/idle",
			Sentence: "A receiver that only waits for records gives no reason for waiting.",
			Needs:    []Ability{Waiting}, kinds: kinds, Run: idleWithoutReason,
		},
		{
			Name:     "share/wanted",
			Sentence: "When another receiver is idle while this one holds deliveries, this one is told; what it releases goes to the other.",
			Needs:    []Ability{Share}, kinds: shared, Run: shareWanted,
		},
	}
}

// isOrUnknown reports whether a field of a Depth is n, or -1.
func isOrUnknown(field int64, n int) bool { return field == int64(n) || field == -1 }

func depthCounts(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.keyed("k", 7)
	s.send(records...)
	l.depth(func(d driver.Depth) bool {
		return isOrUnknown(d.Ready, 7) && isOrUnknown(d.InFlight, 0) && isOrUnknown(d.Held, 0) && !d.Oldest.After(time.Now())
	}, "7 ready")
	ds := r.expect(records...)
	l.depth(func(d driver.Depth) bool { return isOrUnknown(d.Ready, 0) && isOrUnknown(d.InFlight, 7) }, "7 in flight")
	r.done(ds[:3]...)
	l.depth(func(d driver.Depth) bool { return isOrUnknown(d.Ready, 0) && isOrUnknown(d.InFlight, 4) }, "4 in flight")
	r.close()
	l.depth(func(d driver.Depth) bool { return isOrUnknown(d.Ready, 4) && isOrUnknown(d.InFlight, 0) }, "4 ready again")
	next := l.receiver()
	next.done(next.take(4)...)
	l.depth(func(d driver.Depth) bool { return isOrUnknown(d.Ready, 0) && isOrUnknown(d.InFlight, 0) }, "nothing")
}

func depthHeld(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	const held = 3
	records := t.batch(held)
	_, long := t.delays()
	due := time.Now().Add(long)
	s.sendAt(due, records...)
	var last driver.Depth
	told := false
	l.depth(func(d driver.Depth) bool {
		last = d
		told = isOrUnknown(d.Ready, 0) && isOrUnknown(d.Held, held)
		return told || time.Now().After(due)
	}, "an answer")
	if !told {
		t.Errorf("Depth was %+v until they were due, want %d held and none ready", last, held)
	}
	r.done(r.expect(records...)...)
	l.depth(func(d driver.Depth) bool { return isOrUnknown(d.Ready, 0) && isOrUnknown(d.Held, 0) }, "nothing")
}

func depthPrefetch(t *T) {
	l := t.line()
	src := l.source()
	src.Prefetch = 4
	r := l.receiverOf(src)
	records := t.keyed("k", 20)
	l.send(records...)
	var got []string
	for range len(records) / 2 {
		ds := r.take(2)
		got = append(got, ids(ds)...)
		var most int64
		l.depth(func(d driver.Depth) bool { most = d.InFlight; return true }, "an answer")
		if most > int64(src.Prefetch) {
			t.Errorf("%d in flight, with a prefetch of %d", most, src.Prefetch)
		}
		r.done(ds...)
	}
	t.wantAll(got, records)
}

func idleWithoutReason(t *T) {
	l := t.line()
	r := l.receiver()
	w, ok := r.r.(driver.Waiter)
	if !ok {
		t.Fatalf("a receiver of this broker is no Waiter, though another was")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.none()
	}()
	var why string
	if !t.eventually(func() bool { why = w.Waiting(); return why == "" }) {
		t.Errorf("it waits for records, and says %q", why)
	}
	<-done
	rec := t.record()
	l.send(rec)
	r.done(r.expect(rec)...)
}

func shareWanted(t *T) {
	l := t.line()
	r := l.receiver()
	sharer, ok := r.r.(driver.Sharer)
	if !ok {
		t.Fatalf("a receiver of this broker is no Sharer, though another was")
	}
	records := t.batch(6)
	l.send(records...)
	r.expect(records...)
	other := l.receiver()
	came := make(chan []*driver.Delivery, 1)
	go func() {
		defer close(came)
		came <- other.upTo(1, t.h.Wait)
	}()
	timer := time.NewTimer(t.h.Wait)
	defer timer.Stop()
	select {
	case <-sharer.Wanted():
	case <-timer.C:
		t.Errorf("another receiver was idle for %v, and this one, with 6 deliveries, was not told", t.h.Wait)
	}
	byID := r.inHand()
	r.release(byID[records[4].ID.String()], byID[records[5].ID.String()])
	ds := <-came
	if len(ds) != 1 {
		t.Fatalf("what was released did not come to the receiver that was idle")
	}
	other.done(ds...)
}
