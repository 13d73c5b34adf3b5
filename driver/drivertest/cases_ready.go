package drivertest

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// What receivers and inspectors do at any time, and at once.
func readyCases() []Case {
	inspect := []Ability{Inspect}
	return []Case{
		{
			Name:     "receive/takes-what-is-there",
			Sentence: "Receive takes what else is there, and not one delivery a call.",
			kinds:    kinds, Run: takesWhatIsThere,
		},
		{
			Name:     "waiting/any-time",
			Sentence: "Waiting returns at once at any time: before the first Receive, beside one that waits, and after Close.",
			Needs:    []Ability{Waiting}, kinds: kinds, Run: waitingAnyTime,
		},
		{
			Name: "inspect/volatile",
			Sentence: "A broker that forgets at exit knows all of its numbers, so that a stop can tell whether it is empty: what is ready, held " +
				"and in flight is counted and never -1.",
			Needs: append([]Ability{Volatile}, inspect...), kinds: settled, Run: volatileCounts,
		},
		{
			Name:     "inspect/groups",
			Sentence: "Depth counts for the source's group alone.",
			Needs:    inspect, kinds: []kind{groupKind, groupSequenceKind}, Run: depthOfGroup,
		},
		{
			Name:     "inspect/oldest",
			Sentence: "Depth says of no record that it is the oldest where none is ready.",
			Needs:    inspect, kinds: settled, Run: oldestOfNone,
		},
		{
			Name: "close/broker-in-hand",
			Sentence: "After Broker.Close, settling and extending what is in hand is ErrRevoked or ErrClosed, and SendAt is ErrClosed; what was in hand " +
				"stays as it is.",
			kinds: settled, Run: inHandPastBroker,
		},
	}
}

func takesWhatIsThere(t *T) {
	l := t.line()
	r := l.receiver()
	r.none() // a broadcast begins, and a group has its share
	records := t.batch(prefetch)
	l.send(records...)
	calls := 0
	var all []*driver.Delivery
	for limit := time.Now().Add(t.h.Wait); len(all) < len(records) && time.Now().Before(limit); calls++ {
		t.pause(t.h.slack() / 5) // what comes over a network has come
		ctx, cancel := context.WithDeadline(context.Background(), limit)
		ds, err := r.once(ctx, len(records)-len(all))
		cancel()
		all = append(all, ds...)
		if r.fatal(err) {
			break
		}
	}
	t.wantAll(ids(all), records)
	if calls > len(records)/2 {
		t.Errorf("Receive was called %d times for %d records that were there, with room for all of them", calls, len(records))
	}
	r.done(all...)
}

func waitingAnyTime(t *T) {
	l := t.line()
	r := l.receiver()
	w, ok := r.r.(driver.Waiter)
	if !ok {
		t.Fatalf("a receiver of this broker is no Waiter, though another was")
	}
	ask := func(when string) { t.within("Waiting "+when, t.h.slack(), func() { w.Waiting() }) }
	ask("before the first Receive")
	waits := r.waiting()
	t.pause(t.h.Quiet / 5)
	ask("beside a Receive that waits")
	r.close()
	if err := waits(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the Receive that was waiting returned %v, want ErrClosed", err)
	}
	ask("after Close")
}

func volatileCounts(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.keyed("k", 4)
	s.send(records...)
	exactly := func(ready, held, inFlight int64) {
		l.depth(func(d driver.Depth) bool { return d.Ready == ready && d.Held == held && d.InFlight == inFlight },
			"the true numbers of a broker that forgets at exit, none of them -1")
	}
	exactly(4, 0, 0)
	ds := r.expect(records...)
	exactly(0, 0, 4)
	r.done(ds...)
	exactly(0, 0, 0)
	if _, holds := s.s.(driver.Holder); holds {
		_, long := t.delays()
		rec := t.record()
		s.sendAt(time.Now().Add(2*long), rec)
		exactly(0, 1, 0)
		r.done(r.expect(rec)...)
		exactly(0, 0, 0)
	}
}

func depthOfGroup(t *T) {
	one, two := t.pair()
	r1, r2 := one.receiver(), two.receiver()
	records := t.keyed("k", 5)
	one.send(records...)
	r1.done(r1.expect(records...)...)
	nothing := func(d driver.Depth) bool { return isOrUnknown(d.Ready, 0) && isOrUnknown(d.InFlight, 0) }
	one.depth(nothing, "nothing for the group that has settled all")
	two.depth(func(d driver.Depth) bool { return isOrUnknown(d.Ready, 5) && isOrUnknown(d.InFlight, 0) },
		"5 ready for the group that has received none")
	r2.done(r2.expect(records...)...)
	two.depth(nothing, "nothing")
}

func oldestOfNone(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 3)
	l.send(records...)
	ds := r.expect(records...)
	l.depth(func(d driver.Depth) bool { return d.Ready != 0 || d.Oldest.IsZero() }, "no oldest where none is ready")
	r.done(ds...)
	l.depth(func(d driver.Depth) bool { return d.Ready != 0 || d.Oldest.IsZero() }, "no oldest where nothing is left")
}

func inHandPastBroker(t *T) {
	other := t.Open()
	l := t.line().over(other)
	s, r := l.sender(), l.receiver()
	records := t.keyed("k", 4)
	s.send(records...)
	ds := r.expect(records...)
	t.closing("Broker.Close", other.Close)
	over := func(what string, err error) {
		for i := range ds[:2] {
			if e := driver.EntryError(err, i); !errors.Is(e, driver.ErrRevoked) && !errors.Is(e, driver.ErrClosed) {
				t.Errorf("%s after Broker.Close: %v, want ErrRevoked or ErrClosed", what, e)
			}
		}
	}
	over("Settle as done", r.raw(t.soon(), settlements(driver.Done, ds[:2]...)...))
	over("Settle as released", r.raw(t.soon(), settlements(driver.Release, ds[2:]...)...))
	if _, extends := r.r.(driver.Extender); extends && r.info.Lease > 0 {
		over("Extend", r.extend(ds[:2]...))
	}
	if _, holds := s.s.(driver.Holder); holds {
		rec := t.record()
		rec.Due = driver.StampOf(time.Now().Add(time.Hour))
		if err := s.tryAt(t.soon(), rec); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("SendAt after Broker.Close: %v, want ErrClosed", err)
		}
	}
}
