package drivertest

import (
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func holdCases() []Case {
	needs := []Ability{Hold}
	return []Case{
		{
			Name:     "hold/due",
			Sentence: "A held record arrives whole when it is due, and never earlier.",
			Needs:    needs, kinds: kinds, Run: heldUntilDue,
		},
		{
			Name:     "hold/batch",
			Sentence: "Each record of one SendAt has a due time of its own; those that are past or zero arrive at once.",
			Needs:    needs, kinds: kinds, Run: duePerRecord,
		},
		{
			Name:     "hold/short-first",
			Sentence: "A short delay does not wait behind a long one.",
			Needs:    needs, kinds: kinds, Run: shortFirst,
		},
		{
			Name:     "hold/ties",
			Sentence: "Records of one key that are due at the same time arrive in the order in which they were sent.",
			Needs:    needs, kinds: ordered, Run: tiesInOrder,
		},
		{
			Name:     "hold/past",
			Sentence: "A record whose due time is past arrives at once.",
			Needs:    needs, kinds: kinds, Run: pastDue,
		},
		{
			Name:     "hold/group",
			Sentence: "A record held for one group reaches that group alone, and is kept for its first member.",
			Needs:    needs, kinds: []kind{groupKind}, Run: heldForGroup,
		},
		{
			Name:     "hold/sender-closed",
			Sentence: "A held record does not need its sender: it arrives though the sender was closed.",
			Needs:    needs, kinds: settled, Run: heldPastSender,
		},
		{
			Name:     "hold/connection-closed",
			Sentence: "A held record does not need the connection that sent it.",
			Needs:    append([]Ability{Durable}, needs...), kinds: settled, Run: heldPastConnection,
		},
		{
			Name:     "hold/max",
			Sentence: "MaxHold is constant and not negative, and a record may be held for that long.",
			Needs:    needs, kinds: settled, Run: heldForMax,
		},
	}
}

// early is how much before its due time a record may be seen: the error of two readings of a clock.
const early = time.Millisecond

// arrivals receives n deliveries and notes when each came.
func (r *receiver) arrivals(n int) (ds []*driver.Delivery, at map[string]time.Time) {
	at = map[string]time.Time{}
	for range n {
		d := r.one()
		at[d.ID.String()] = time.Now()
		ds = append(ds, d)
	}
	return ds, at
}

// notEarly fails the case where a record came before it was due.
func (t *T) notEarly(records []driver.Record, at map[string]time.Time) {
	for i := range records {
		id, due := records[i].ID.String(), records[i].Due.Time()
		if came, ok := at[id]; ok && came.Before(due.Add(-early)) {
			t.Errorf("%s came %v before it was due", id, due.Sub(came))
		}
	}
}

// delays are a short time to hold and a long one.
func (t *T) delays() (short, long time.Duration) {
	return 4 * t.h.slack() / 10, 2 * t.h.slack()
}

func heldUntilDue(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.batch(5)
	records[0].Control = fullControl()
	records[1].Headers = oddRecords(t)[4].Headers
	short, _ := t.delays()
	s.sendAt(time.Now().Add(short), records...)
	ds, at := r.arrivals(len(records))
	t.notEarly(records, at)
	byID := map[string]*driver.Delivery{}
	for _, d := range ds {
		byID[d.ID.String()] = d
	}
	for i := range records {
		d := byID[records[i].ID.String()]
		if d == nil {
			t.Fatalf("came %q, want %q", ids(ds), recordIDs(records))
		}
		if wrong := difference(&records[i], d); wrong != "" {
			t.Errorf("%s arrived with %s", d.ID, wrong)
		}
	}
	r.done(ds...)
	r.none()
}

func duePerRecord(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	short, long := t.delays()
	now := time.Now()
	records := t.batch(4)
	for i, d := range []time.Duration{long, -time.Hour, short, 0} {
		records[i].Key = []byte{'k', byte(i)}
		if d != 0 {
			records[i].Due = driver.StampOf(now.Add(d))
		}
	}
	for _, part := range s.parts(records) {
		if err := s.tryAt(t.soon(), part...); err != nil {
			t.Fatalf("SendAt: %v", err)
		}
	}
	ds, at := r.arrivals(len(records))
	t.notEarly(records, at)
	got, want := ids(ds), recordIDs(records)
	if !sameSet(got[:2], []string{want[1], want[3]}) || got[2] != want[2] || got[3] != want[0] {
		t.Errorf("came in the order %q; %q and %q were past, %q was due next, %q last", got, want[1], want[3], want[2], want[0])
	}
	r.done(ds...)
}

func shortFirst(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	short, long := t.delays()
	a, b := t.batch(3), t.batch(3)
	for i := range a {
		a[i].Key, b[i].Key = []byte{'a', byte(i)}, []byte{'b', byte(i)}
	}
	now := time.Now()
	s.sendAt(now.Add(long), a...)
	s.sendAt(now.Add(short), b...)
	ds, at := r.arrivals(6)
	t.notEarly(a, at)
	t.notEarly(b, at)
	if !sameSet(ids(ds[:3]), recordIDs(b)) {
		t.Errorf("came in the order %q; the short ones are %q", ids(ds), recordIDs(b))
	}
	r.done(ds...)
}

func tiesInOrder(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.keyed("k", 20)
	short, _ := t.delays()
	due := time.Now().Add(short)
	for part := range slices.Chunk(records, 4) {
		s.sendAt(due, part...)
	}
	ds := r.take(len(records))
	t.wantOrder(ds, records)
	r.done(ds...)
}

func pastDue(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	r.none()
	records := t.batch(3)
	start := time.Now()
	s.sendAt(start.Add(-time.Hour), records...)
	r.done(r.expect(records...)...)
	if took := time.Since(start); took > t.h.slack() {
		t.Errorf("records that were due an hour ago took %v", took)
	}
}

func heldForGroup(t *T) {
	one, two := t.pair()
	r2 := two.receiver()
	records := t.batch(4)
	short, _ := t.delays()
	one.toGroup().sendAt(time.Now().Add(short), records...)
	r1 := one.receiver()
	ds, at := r1.arrivals(len(records))
	t.notEarly(records, at)
	t.wantAll(ids(ds), records)
	r1.done(ds...)
	r1.none()
	r2.none()
}

func heldPastSender(t *T) {
	l := t.line()
	r := l.receiver()
	s := l.sender()
	rec := t.record()
	short, _ := t.delays()
	s.sendAt(time.Now().Add(short), rec)
	s.close()
	r.done(r.expect(rec)...)
}

func heldPastConnection(t *T) {
	other := t.Open()
	l := t.line()
	r := l.receiver()
	records := t.batch(3)
	_, long := t.delays()
	l.over(other).sender().sendAt(time.Now().Add(long), records...)
	t.closing("Broker.Close", other.Close)
	ds, at := r.arrivals(len(records))
	t.notEarly(records, at)
	r.done(ds...)
}

func heldForMax(t *T) {
	l := t.line()
	s := l.sender()
	h, ok := s.s.(driver.Holder)
	if !ok {
		t.Fatalf("a sender of this broker is no Holder, though another was")
	}
	longest := h.MaxHold()
	if again := h.MaxHold(); longest < 0 || longest != again {
		t.Errorf("MaxHold said %v, then %v", longest, again)
	}
	const day = 24 * time.Hour
	if longest == 0 || longest > day {
		longest = day
	}
	s.sendAt(time.Now().Add(longest), t.record())
	l.empty()
}
