package drivertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// What a receiver says of what waits for itself.
func inspectReceiverCases() []Case {
	needs := []Ability{InspectReceiver}
	return []Case{
		{
			Name: "inspect-receiver/counts",
			Sentence: "A receiver's own Depth counts what is ready for it and what it has in hand, down to nothing when all is settled; -1 is " +
				"what it does not know, and a broker that forgets at exit knows all.",
			Needs: needs, kinds: kinds, Run: ownCounts,
		},
		{
			Name:     "inspect-receiver/readers",
			Sentence: "Of two broadcast readers each counts what itself has not read, and what itself has in hand.",
			Needs:    needs, kinds: []kind{broadcastKind}, Run: ownOfReaders,
		},
		{
			Name:     "inspect-receiver/owners",
			Sentence: "A receiver does not count what waits behind a key that another owns, nor what another has in hand; once the owner is closed it does.",
			Needs:    needs, kinds: ordered, Run: ownOfOwners,
		},
		{
			Name:     "inspect-receiver/given",
			Sentence: "What a receiver counts as ready comes to it, as long as no other receives, and no more: not what is in a partition of another.",
			Needs:    needs, kinds: settled, Run: ownIsGiven,
		},
		{
			Name:     "inspect-receiver/held",
			Sentence: "A receiver's own Depth counts what is held as held, or says -1, and as ready once it is due.",
			Needs:    append([]Ability{Hold}, needs...), kinds: kinds, Run: ownHeld,
		},
		{
			Name:     "inspect-receiver/closed",
			Sentence: "After Close of the receiver, and of the broker, its own Depth is an error.",
			Needs:    needs, kinds: kinds, Run: ownOfClosed,
		},
		{
			Name:     "inspect-receiver/ended-context",
			Sentence: "A receiver's own Depth whose context has ended before is an error, and harms nothing.",
			Needs:    needs, kinds: kinds, Run: ownEndedContext,
		},
		{
			Name: "inspect-receiver/any-time",
			Sentence: "A receiver's own Depth may be asked by many at any time: before the first Receive, beside one that waits, and while " +
				"deliveries come and are settled.",
			Needs: needs, kinds: kinds, Run: ownAnyTime,
		},
		{
			Name: "transact/inspect-receiver",
			Sentence: "Where a receiver of transactions tells what waits for itself, what is in its open transaction is in flight, ready again " +
				"after an abort, and gone with a commit; after Close it is an error.",
			Needs: []Ability{Transact, Queue}, Run: ownOfTransactions,
		},
	}
}

// own is what the receiver says of itself. One that says that it never knows has said enough: known is false.
func (r *receiver) own() (d driver.Depth, known bool, err error) {
	in, ok := r.r.(driver.ReceiverInspector)
	if !ok {
		r.t.Fatalf("a receiver of this broker is no ReceiverInspector, though another was")
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.t.h.Wait)
	defer cancel()
	if !r.t.within("Depth of a receiver", 2*r.t.h.Wait, func() { d, err = in.Depth(ctx) }) {
		r.t.FailNow()
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return d, false, nil
	}
	return d, err == nil, err
}

// mayBe reports whether a number that the receiver tells is n, or -1 where it may be.
func (r *receiver) mayBe(told, n int64) bool { return told == n || told == -1 && !r.info.Volatile }

// tells waits until the receiver's own Depth is that, and nothing is held.
func (r *receiver) tells(ready, inFlight int64) {
	r.tellsSo(func(d *driver.Depth) bool {
		dated := d.Oldest.IsZero() || ready > 0 && !d.Oldest.After(time.Now())
		return r.mayBe(d.Ready, ready) && r.mayBe(d.Held, 0) && r.mayBe(d.InFlight, inFlight) && dated
	}, fmt.Sprintf("%d ready, none held and %d in its hand", ready, inFlight))
}

// tellsAll waits until what the receiver's own Depth has ready and in flight is n together, wherever it is on its way.
func (r *receiver) tellsAll(n int64) {
	r.tellsSo(func(d *driver.Depth) bool {
		if min(d.Ready, d.InFlight) < 0 {
			return r.mayBe(-1, n)
		}
		return d.Ready+d.InFlight == n
	}, fmt.Sprintf("%d ready or in its hand", n))
}

func (r *receiver) tellsSo(ok func(d *driver.Depth) bool, want string) {
	var last driver.Depth
	var err error
	if !r.t.eventually(func() bool {
		d, known, failed := r.own()
		last, err = d, failed
		return failed == nil && (!known || ok(&d))
	}) {
		r.t.Errorf("the receiver's own Depth is %+v, %v; want %s", last, err, want)
	}
}

func ownCounts(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.keyed("k", 7)
	s.send(records...)
	r.tells(7, 0)
	ds := r.expect(records...)
	r.tells(0, 7)
	r.done(ds[:3]...)
	r.tells(0, 4)
	r.done(ds[3:]...)
	r.tells(0, 0)
}

func ownOfReaders(t *T) {
	l := t.line()
	a, b := l.receiver(), l.receiver()
	records := t.batch(5)
	l.send(records...)
	a.tells(5, 0)
	ds := a.expect(records...)
	a.tells(0, 5)
	b.tells(5, 0)
	a.done(ds...)
	a.tells(0, 0)
	b.tells(5, 0)
	b.done(b.expect(records...)...)
	b.tells(0, 0)
	b.close()
	more := t.batch(3)
	l.send(more...)
	a.tells(3, 0)
	a.done(a.expect(more...)...)
	a.tells(0, 0)
}

func ownOfOwners(t *T) {
	l := t.line()
	a, b := l.two()
	owner, other, first := l.owner("k", 3, a, b)
	more := t.keyed("k", 4)
	l.send(more...)
	owner.tellsAll(int64(len(first) + len(more)))
	other.tells(0, 0)
	owner.close()
	// As things are now it can have them: at once, or once it receives and takes the place of the other.
	want := append(ids(first), recordIDs(more)...)
	other.tellsAll(int64(len(want)))
	ds := other.take(len(want))
	other.tells(0, int64(len(ds)))
	other.done(ds...)
	other.tells(0, 0)
}

func ownIsGiven(t *T) {
	l := t.line()
	a, b := l.two()
	const rounds = 5
	for range rounds {
		if l.given(a, b) {
			return
		}
	}
	t.Errorf("tenures ended in each of %d rounds: what is whose does not come to rest", rounds)
}

// given sends records, asks the one and then the other what there is for it, and has each receive it, and settle it in the end. It
// reports whether they kept what they had meanwhile, so that the answers can be held to what came.
func (l *line) given(a, b *receiver) (steady bool) {
	t := l.t
	const keys = 20
	records := t.batch(2 * keys)
	for i := range records {
		records[i].Key = fmt.Appendf(nil, "key-%d", i%keys)
	}
	l.send(records...)
	ended := a.tenuresEnded() + b.tenuresEnded()
	counted := map[*receiver]int{}
	came := map[*receiver][]*driver.Delivery{}
	left := len(records)
	for _, r := range []*receiver{a, b} {
		counted[r] = r.ready()
		if n := min(counted[r], left); n > 0 {
			came[r] = r.upTo(n, t.h.Wait)
		}
		if more := left - len(came[r]); more > 0 {
			came[r] = append(came[r], r.upTo(more, t.h.Quiet)...)
		}
		left -= len(came[r])
	}
	steady = a.tenuresEnded()+b.tenuresEnded() == ended
	for r, ds := range came {
		if steady && counted[r] >= 0 && len(ds) != counted[r] {
			t.Errorf("a receiver counted %d of %d records as ready for it, and %d came", counted[r], len(records), len(ds))
		}
	}
	for r, ds := range came {
		r.settleOpen(t.soon(), ds...)
	}
	if steady {
		a.tells(0, 0)
		b.tells(0, 0)
		return true
	}
	// What changed hands comes again.
	for _, r := range []*receiver{a, b} {
		r.settleOpen(t.soon(), r.upTo(len(records), t.h.Quiet)...)
	}
	return false
}

// ready is how much waits for the receiver, which has nothing in hand, on its way to it included; -1 where it does not know.
func (r *receiver) ready() int {
	d, known, err := r.own()
	switch {
	case err != nil:
		r.t.Fatalf("the receiver's own Depth: %v", err)
	case !known, min(d.Ready, d.InFlight) < 0:
		return -1
	}
	return int(d.Ready + d.InFlight)
}

// tenuresEnded is how many tenures of the receiver ended so far.
func (r *receiver) tenuresEnded() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.told)
}

func ownHeld(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	const held = 3
	records := t.batch(held)
	_, long := t.delays()
	due := time.Now().Add(long)
	s.sendAt(due, records...)
	told := func(d *driver.Depth) bool { return r.mayBe(d.Ready, 0) && r.mayBe(d.Held, held) }
	d, known, err := r.own()
	for err == nil && known && !told(&d) && time.Now().Before(due) {
		t.pause(t.h.slack() / 20)
		d, known, err = r.own()
	}
	if err != nil || known && !told(&d) {
		t.Errorf("the receiver's own Depth was %+v, %v, until they were due, want %d held and none ready", d, err, held)
	}
	t.pause(time.Until(due))
	r.tells(held, 0)
	r.done(r.expect(records...)...)
	r.tells(0, 0)
}

func ownOfClosed(t *T) {
	other := t.Open()
	l := t.line().over(other)
	first, second := l.receiver(), l.receiver()
	fails := func(r *receiver, when string) {
		if d, known, err := r.own(); known && err == nil {
			t.Errorf("the receiver's own Depth %s is %+v, want an error", when, d)
		}
	}
	first.close()
	fails(first, "after its Close")
	t.closing("Broker.Close", other.Close)
	fails(second, "after Broker.Close")
}

func ownEndedContext(t *T) {
	l := t.line()
	r := l.receiver()
	in, ok := r.r.(driver.ReceiverInspector)
	if !ok {
		t.Fatalf("a receiver of this broker is no ReceiverInspector, though another was")
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{cancelled, late} {
		if d, err := in.Depth(ctx); err == nil {
			t.Errorf("Depth of a receiver, with a context that has ended, is %+v, want an error", d)
		}
	}
	records := t.batch(2)
	l.send(records...)
	r.tells(2, 0)
	r.done(r.expect(records...)...)
}

func ownAnyTime(t *T) {
	l := t.line()
	idle := l.receiver()
	idle.tells(0, 0)
	waits := idle.waiting()
	t.pause(t.h.Quiet / 5)
	idle.tells(0, 0)
	idle.close()
	if err := waits(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the Receive that was waiting returned %v, want ErrClosed", err)
	}

	r := l.receiver()
	r.none() // a broadcast begins, and a group has its share
	c := t.crowd()
	c.consume(r)
	records := t.batch(t.h.Messages)
	const askers = 3
	for range askers {
		c.wg.Go(func() {
			for c.ctx.Err() == nil {
				d, known, err := r.own()
				most, hand := int64(len(records)), int64(r.most)
				switch {
				case err != nil:
					t.Errorf("the receiver's own Depth beside its Receive: %v", err)
					return
				case known && (min(d.Ready, d.Held, d.InFlight) < -1 || d.Ready > most || d.InFlight > hand):
					t.Errorf("the receiver's own Depth is %+v, of %d records and with a prefetch of %d", d, most, hand)
					return
				}
				t.pause(t.h.slack() / 50)
			}
		})
	}
	c.send(l.sender(), records)
	if rep := c.finish(); !rep.Clean() || rep.Settled != len(records) {
		t.Errorf("beside %d that ask: %v", askers, rep)
	}
	r.tells(0, 0)
}

func ownOfTransactions(t *T) {
	l := t.lineOf(queueKind)
	x := l.transacted()
	in, ok := x.r.(driver.ReceiverInspector)
	if !ok {
		t.Logf("a receiver of transactions does not tell what waits for itself")
		return
	}
	// A receiver that is never received from: it is asked, and not watched.
	r := &receiver{t: t, r: inspected{in}, info: x.r.Info()}
	records := t.keyed("k", 3)
	l.send(records...)
	r.tells(3, 0)
	_, tx := x.next(len(records))
	r.tells(0, 3)
	x.abort(tx)
	r.tells(3, 0)
	ds, tx := x.next(len(records))
	x.commit(tx, ds...)
	r.tells(0, 0)
	x.close()
	if d, known, err := r.own(); known && err == nil {
		t.Errorf("Depth of a receiver of transactions after its Close is %+v, want an error", d)
	}
}

// inspected is what a receiver of transactions can be asked, as a receiver.
type inspected struct{ driver.ReceiverInspector }

func (inspected) Receive(_ context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	return dst, driver.ErrClosed
}
func (inspected) Settle(context.Context, []driver.Settlement) error { return driver.ErrClosed }
func (inspected) Info() driver.Info                                 { return driver.Info{} }
func (inspected) Close(context.Context) error                       { return nil }
