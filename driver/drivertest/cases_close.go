package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func closeCases() []Case {
	return []Case{
		{
			Name:     "close/twice",
			Sentence: "Senders, receivers and brokers can be closed twice, and from 8 goroutines at once; each call returns nil.",
			kinds:    kinds, Run: closeTwice,
		},
		{
			Name:     "close/beside-receive",
			Sentence: "Closing a receiver beside its Receive ends that call with ErrClosed, and every later one.",
			kinds:    kinds, Run: closeBesideReceive,
		},
		{
			Name:     "close/broker",
			Sentence: "Closing a broker ends what was opened from it: Send, Receive and every Open return ErrClosed.",
			kinds:    kinds, Run: closeBroker,
		},
		{
			Name: "close/returns-unsettled",
			Sentence: "What is unsettled when its receiver closes comes to another: the same id, the attempt unchanged, and the " +
				"broker's count, where there is one, one higher.",
			kinds: settled, Run: closeReturnsUnsettled,
		},
		{
			Name:     "close/keeps-memory",
			Sentence: "An unsettled delivery stays as it is after its receiver was closed and after another received and settled the message.",
			kinds:    settled, Run: closeKeepsMemory,
		},
		{
			Name: "close/late-settlement",
			Sentence: "Settling after the receiver was closed is ErrRevoked or ErrClosed, and does not touch the delivery of the " +
				"message's new owner.",
			kinds: settled, Run: lateSettlement,
		},
		{
			Name:     "close/beside-settle",
			Sentence: "Of settlements beside Close, what was refused comes again and nothing is lost.",
			kinds:    settled, Run: closeBesideSettle,
		},
		{
			Name:     "close/broker-returns-unsettled",
			Sentence: "What is unsettled when its broker connection closes comes to another connection.",
			Needs:    []Ability{Durable}, kinds: settled, Run: brokerReturnsUnsettled,
		},
	}
}

func closeTwice(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	for what, f := range map[string]func(context.Context) error{"Sender.Close": s.s.Close, "Receiver.Close": r.r.Close} {
		t.closeOften(what, f)
	}
	t.closeOften("Broker.Close", l.b.Close)
}

func (t *T) closeOften(what string, f func(context.Context) error) {
	const callers = 8
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() { t.closing(what+" from 8 goroutines", f) })
	}
	wg.Wait()
	t.closing(what+" again", f)
}

// waiting starts a Receive that nothing ends but a close; what it returns gives the call's error, within Wait.
func (r *receiver) waiting() func() error {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		_, err := r.once(ctx, 1)
		result <- err
	}()
	return func() error {
		defer cancel()
		timer := time.NewTimer(r.t.h.Wait)
		defer timer.Stop()
		select {
		case err := <-result:
			return err
		case <-timer.C:
			r.t.Fatalf("the Receive that was waiting still waits, %v after the close", r.t.h.Wait)
			return nil
		}
	}
}

func closeBesideReceive(t *T) {
	l := t.line()
	r := l.receiver()
	r.none() // it is connected and idle
	waiting := r.waiting()
	t.pause(t.h.Quiet / 5)
	r.close()
	if err := waiting(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the Receive that was waiting returned %v, want ErrClosed", err)
	}
	for range 2 {
		if _, err := r.once(t.soon(), 1); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Receive after Close: %v, want ErrClosed", err)
		}
	}
}

func closeBroker(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	r.none()
	waiting := r.waiting()
	t.pause(t.h.Quiet / 5)
	t.closing("Broker.Close", l.b.Close)
	if err := waiting(); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("the Receive that was waiting returned %v, want ErrClosed", err)
	}
	ctx := t.soon()
	if _, err := r.once(ctx, 1); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Receive after Broker.Close: %v, want ErrClosed", err)
	}
	if err := s.try(ctx, t.record()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("Send after Broker.Close: %v, want ErrClosed", err)
	}
	if _, err := l.b.OpenSender(ctx, l.target()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("OpenSender after Broker.Close: %v, want ErrClosed", err)
	}
	if _, err := l.tryReceiver(l.source()); !errors.Is(err, driver.ErrClosed) {
		t.Errorf("opening a receiver after Broker.Close: %v, want ErrClosed", err)
	}
	if d, ok := l.b.(driver.Declarer); ok {
		if err := d.Declare(ctx, l.topic, driver.Declare); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Declare after Broker.Close: %v, want ErrClosed", err)
		}
	}
	if i, ok := l.b.(driver.Inspector); ok {
		if _, err := i.Depth(ctx, l.source()); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Depth after Broker.Close: %v, want ErrClosed", err)
		}
	}
}

func closeReturnsUnsettled(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 3)
	for i := range records {
		records[i].Control = fullControl()
	}
	l.send(records...)
	for owner := 1; owner <= 3; owner++ {
		for _, d := range r.expect(records...) {
			if r.info.HasCount && d.Delivered != owner {
				t.Errorf("owner %d of %s sees Delivered %d", owner, d.ID, d.Delivered)
			}
		}
		r.close()
		r = l.receiver()
	}
	r.done(r.expect(records...)...)
}

func closeKeepsMemory(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.keyed("k", 10)
	s.send(records...)
	r.expect(records...)
	r.close() // from here on, the observed receiver checks them at the end of the case
	next := l.receiver()
	next.done(next.expect(records...)...)
	// Memory that was given back is likely to be used again now.
	for range 20 {
		more := t.keyed("k", 10)
		s.send(more...)
		next.done(next.expect(more...)...)
	}
	r.checkParted()
}

func lateSettlement(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 4)
	l.send(records...)
	old := r.expect(records...)
	r.close()
	next := l.receiver()
	next.expect(records...)
	for _, v := range []driver.Verdict{driver.Done, driver.Release} {
		err := r.raw(t.soon(), settlements(v, old...)...)
		for i := range old {
			if entry := driver.EntryError(err, i); !errors.Is(entry, driver.ErrRevoked) && !errors.Is(entry, driver.ErrClosed) {
				t.Errorf("settling %s as %s after Close: %v, want ErrRevoked or ErrClosed", old[i].ID, v, entry)
			}
		}
	}
	third := l.receiver()
	third.none() // the late release gave nothing away
	next.close()
	third.done(third.expect(records...)...) // and the late done ended nothing
}

func closeBesideSettle(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.keyed("k", 60)
	l.send(records...)
	ds := r.expect(records...)
	names := slices.Clone(ids(ds))
	r.forget(ds...) // those that are settled beside the close are the driver's again
	const callers, before, after = 4, 8, 3
	errs := make([]error, len(ds))
	start, closed := make(chan struct{}, callers), make(chan struct{})
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			each := len(ds) / callers
			for i := range each {
				switch i {
				case before:
					start <- struct{}{}
				case each - after:
					<-closed
				}
				at := c*each + i
				errs[at] = r.raw(context.Background(), settlements(driver.Done, ds[at])...)
			}
		})
	}
	all := make(chan struct{})
	go func() {
		defer close(all)
		wg.Wait()
	}()
	select {
	case <-start:
	case <-all: // every caller has failed before
	}
	r.close()
	close(closed)
	wg.Wait()
	var refused []string
	for i, err := range errs {
		if entry := driver.EntryError(err, 0); entry != nil {
			refused = append(refused, names[i])
			if !errors.Is(entry, driver.ErrRevoked) && !errors.Is(entry, driver.ErrClosed) {
				t.Errorf("settling beside Close: %v, want nil, ErrRevoked or ErrClosed", entry)
			}
		}
	}
	next := l.receiver()
	back := next.take(len(refused))
	back = append(back, next.upTo(len(records), t.h.Quiet)...)
	for _, id := range refused {
		if !slices.Contains(ids(back), id) {
			t.Errorf("%s is gone, though its settlement was refused", id)
		}
	}
	next.done(back...)
}

func brokerReturnsUnsettled(t *T) {
	other := t.Open()
	l := t.line().over(other)
	r := l.receiver()
	records := t.keyed("k", 3)
	l.send(records...)
	r.expect(records...)
	t.closing("Broker.Close", other.Close)
	next := l.over(t.Broker()).receiver()
	next.done(next.expect(records...)...)
}
