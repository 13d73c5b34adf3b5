package drivertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func faultCases() []Case {
	cut := []string{HookCut}
	restart := []string{HookRestart}
	return []Case{
		{
			Name: "fault/cut",
			Sentence: "Connections that are cut while senders and receivers work come back by themselves: nothing is lost, and no " +
				"more comes twice than was in hand, prefetched or unconfirmed.",
			Hooks: cut, kinds: settled, Run: func(t *T) { throughFault(t, func(b driver.Broker) { t.cutFor(b, t.h.Quiet) }) },
		},
		{
			Name:     "fault/cut-send",
			Sentence: "A Send while the broker is away returns with its context and tells whether the record is at the broker.",
			Hooks:    cut, kinds: settled, Run: sendWhileCut,
		},
		{
			Name:     "fault/cut-close",
			Sentence: "Closing while the broker is away returns, and wakes a Send that waits, at once and with ErrClosed.",
			Hooks:    cut, kinds: settled, Run: closeWhileCut,
		},
		{
			Name: "fault/cut-in-hand",
			Sentence: "What was in hand when the connection was cut stays as it was; its settlement afterwards is applied, or fails and " +
				"the message comes again.",
			Hooks: cut, kinds: settled, Run: inHandWhileCut,
		},
		{
			Name:     "fault/cut-settle",
			Sentence: "A Settle while the broker is away returns with its context; what it did not settle comes again, and nothing is lost.",
			Hooks:    cut, kinds: settled, Run: settleWhileCut,
		},
		{
			Name:     "fault/wiped",
			Sentence: "Senders and receivers whose topology was lost declare it again: what is sent afterwards arrives.",
			Hooks:    []string{HookWipe}, Alone: true, kinds: settled, Run: throughWipe,
		},
		{
			Name:     "fault/waiting",
			Sentence: "While the broker is away, a receiver says so, in the words of ErrDisconnected, and stops saying so afterwards.",
			Needs:    []Ability{Waiting}, Hooks: cut, kinds: settled, Run: reasonWhileCut,
		},
		{
			Name: "fault/restart",
			Sentence: "A broker that is restarted with its data is found again: nothing is lost, and no more comes twice than was in " +
				"hand, prefetched or unconfirmed.",
			Needs: []Ability{Durable}, Hooks: restart, Alone: true, kinds: settled,
			Run: func(t *T) { throughFault(t, func(driver.Broker) { t.h.Restart(t) }) },
		},
		{
			Name:     "fault/restart-held",
			Sentence: "A held record survives a restart of the broker.",
			Needs:    []Ability{Durable, Hold}, Hooks: restart, Alone: true, kinds: settled, Run: heldPastRestart,
		},
	}
}

// cutFor cuts the connections of b for d.
func (t *T) cutFor(b driver.Broker, d time.Duration) {
	mend := t.h.Cut(t, b)
	t.pause(d)
	mend()
}

// throughFault lets two senders and two receivers work while the fault happens, twice.
func throughFault(t *T, fault func(driver.Broker)) {
	l := t.line()
	c := t.crowd()
	c.lenient = true
	const senders, receivers, faults = 2, 2, 2
	for range receivers {
		r := l.receiver()
		r.none()
		c.consume(r)
	}
	var sending sync.WaitGroup
	for range senders {
		s := l.sender()
		records := t.batch(t.h.Messages / senders)
		sending.Go(func() {
			for i := 0; i < len(records); i += 10 {
				c.send(s, records[i:min(i+10, len(records))])
				t.pause(time.Millisecond)
			}
		})
	}
	for range faults {
		t.pause(50 * time.Millisecond)
		fault(l.b)
	}
	sending.Wait()
	rep := c.finish()
	if len(rep.Lost) > 0 || len(rep.Strange) > 0 {
		t.Errorf("%v", rep)
	}
	// In hand 16, prefetched 64, unconfirmed 16 at each receiver; of each sender, one call of 5 that was repeated.
	inHand := 96
	bound := faults * (receivers*inHand + senders*5)
	if n := len(rep.Duplicated) + len(rep.Redelivered); n > bound {
		t.Errorf("%d came twice, more than the %d that could be under way: %v", n, bound, rep)
	}
}

func sendWhileCut(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	first := t.record()
	s.send(first)
	r.done(r.expect(first)...)
	mend := t.h.Cut(t, l.b)
	var o outcomes
	for range 3 {
		rs := t.batch(1)
		ctx, cancel := context.WithTimeout(context.Background(), t.h.slack())
		start := time.Now()
		err := s.try(ctx, rs...)
		cancel()
		if took := time.Since(start); took > 2*t.h.slack()+t.h.Wait/2 {
			t.Errorf("Send took %v, with a context of %v", took, t.h.slack())
		}
		if err == nil {
			t.Errorf("Send returned nil while the connection was cut")
		}
		o.add(rs, err)
	}
	mend()
	last := t.batch(1)
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
	defer cancel()
	var err error
	if !t.eventually(func() bool { err = s.try(ctx, last...); return err == nil }) {
		t.Fatalf("the connection is back, and Send fails: %v", err)
	}
	o.add(last, nil)
	o.check(r)
}

func closeWhileCut(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	r.none()
	mend := t.h.Cut(t, l.b)
	ctx, cancel := context.WithTimeout(context.Background(), 2*t.h.Wait)
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- s.try(ctx, t.record()) }()
	early := time.NewTimer(t.h.Quiet / 5)
	defer early.Stop()
	select {
	case err := <-result: // it did not wait, and told what became of the record, which every Send is asked
		if err == nil {
			t.Errorf("Send returned nil while the connection was cut")
		}
		s.close()
	case <-early.C:
		s.close()
		wokenByClose(t, result)
		cancel()
	}
	r.close()
	t.closing("Broker.Close", l.b.Close)
	mend()
}

// wokenByClose wants the error of a Send that waited when its sender was closed.
func wokenByClose(t *T, result <-chan error) {
	late := time.NewTimer(t.h.slack())
	defer late.Stop()
	select {
	case err := <-result:
		if !errors.Is(err, driver.ErrClosed) {
			t.Errorf("the Send that was waiting returned %v, want ErrClosed", err)
		}
	case <-late.C:
		t.Errorf("the Send that was waiting still waits %v after Sender.Close, want ErrClosed", t.h.slack())
	}
}

func inHandWhileCut(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 6)
	l.send(records...)
	ds := r.expect(records...)
	names := ids(ds)
	t.cutFor(l.b, t.h.slack())
	// A Receive lets the driver notice; nothing new is there, so what it brings has come again.
	back := r.upTo(len(records), t.h.Quiet)
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
	settledNow := r.settleOpen(ctx, ds...)
	cancel()
	want := 0
	for _, name := range names {
		if !settledNow[name] {
			want++
		}
	}
	if n := want - len(back); n > 0 {
		back = append(back, r.take(n)...)
	}
	for _, name := range names {
		came := false
		for _, d := range back {
			came = came || d.ID.String() == name
		}
		if !came && !settledNow[name] {
			t.Errorf("%s was in hand at the cut, was not settled, and did not come again", name)
		}
	}
	r.done(back...)
	r.none()
}

func settleWhileCut(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 4)
	l.send(records...)
	ds := r.expect(records...)
	names := ids(ds)
	mend := t.h.Cut(t, l.b)
	ctx, cancel := context.WithTimeout(context.Background(), t.h.slack())
	ended := r.settleOpen(ctx, ds...) // a driver may have noticed the cut before, and ended their tenure
	cancel()
	mend()
	again := map[string]bool{}
	take := func(more []*driver.Delivery) {
		for _, d := range more {
			again[d.ID.String()] = true
		}
		r.done(more...)
	}
	take(r.upTo(len(records), t.h.Quiet))
	r.close() // what is still in hand goes back
	next := l.receiver()
	r = next
	take(next.upTo(len(records), t.h.Quiet))
	for _, name := range names {
		if !ended[name] && !again[name] {
			t.Errorf("%s was not settled while the connection was cut, and did not come again", name)
		}
	}
	next.none()
}

func throughWipe(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	before := t.record()
	s.send(before)
	r.done(r.expect(before)...)
	t.h.Wipe(t)
	came := make(chan []*driver.Delivery, 1)
	go func() {
		defer close(came)
		came <- r.upTo(1, 2*t.h.Wait)
	}()
	// What is sent until the topology is there again may be lost with it.
	after := t.record()
	after.Unique = true
	var ds []*driver.Delivery
	t.eventually(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
		defer cancel()
		if s.try(ctx, after) != nil {
			return false
		}
		select {
		case ds = <-came:
			return true
		default:
			return false
		}
	})
	if len(ds) != 1 || ds[0].ID.String() != after.ID.Text {
		t.Fatalf("nothing that was sent after the loss arrived within %v; came %q", t.h.Wait, ids(ds))
	}
	r.done(ds...)
}

func reasonWhileCut(t *T) {
	l := t.line()
	r := l.receiver()
	w, ok := r.r.(driver.Waiter)
	if !ok {
		t.Fatalf("a receiver of this broker is no Waiter, though another was")
	}
	r.none()
	mend := t.h.Cut(t, l.b)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				r.upTo(1, t.h.Quiet/5)
			}
		}
	}()
	away := driver.ErrDisconnected.Error() // any other reason is one that an answering broker gives
	if !t.eventually(func() bool { return w.Waiting() == away }) {
		t.Errorf("the connection is cut, and the receiver says that it waits for %q; return %q, the text of ErrDisconnected", w.Waiting(), away)
	}
	mend()
	if !t.eventually(func() bool { return w.Waiting() == "" }) {
		t.Errorf("the connection is back, and the receiver still says %q", w.Waiting())
	}
	close(stop)
	<-done
}

func heldPastRestart(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.batch(3)
	s.sendAt(time.Now().Add(t.h.Wait/2), records...)
	t.h.Restart(t)
	ds, at := r.arrivals(len(records))
	t.notEarly(records, at)
	t.wantAll(ids(ds), records)
	r.done(ds...)
}
