package drivertest

import (
	"context"
	"errors"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func cancelCases() []Case {
	return []Case{
		{
			Name:     "send/ended-context",
			Sentence: "A Send whose context has ended before returns nil and has sent, or says ErrNotSent and has not, or ErrUnconfirmed.",
			kinds:    kinds, Run: endedContext,
		},
		{
			Name: "send/cancel",
			Sentence: "A Send that is cancelled returns at once and tells the truth: nil is at the broker, ErrNotSent is not, and " +
				"nothing else than these and ErrUnconfirmed is said.",
			kinds: kinds, Run: cancelledSends,
		},
		{
			Name:     "send/closed",
			Sentence: "After Sender.Close, Send returns ErrClosed and ErrNotSent, and sends nothing.",
			kinds:    kinds, Run: sendAfterClose,
		},
		{
			Name: "send/close-race",
			Sentence: "Closing a sender beside its Sends loses none that returned nil and sends none that returned ErrClosed or ErrNotSent, and " +
				"takes no longer than what is under way.",
			kinds: settled, Run: closeBesideSend,
		},
	}
}

// outcomes are records by what Send said of them.
type outcomes struct {
	sent, stayed, unknown []driver.Record
}

func (o *outcomes) add(rs []driver.Record, err error) {
	for i := range rs {
		switch fateOf(driver.EntryError(err, i)) {
		case arrived:
			o.sent = append(o.sent, rs[i])
		case stayed:
			o.stayed = append(o.stayed, rs[i])
		case unknown, bare:
			o.unknown = append(o.unknown, rs[i])
		}
	}
}

// check receives everything, beside what is in hand, and fails the case where Send had not told the truth.
func (o *outcomes) check(r *receiver, inHand ...*driver.Delivery) {
	t := r.t
	came := map[string]int{}
	take := func(ds []*driver.Delivery) int {
		for _, d := range ds {
			came[d.ID.String()]++
		}
		n := len(ds)
		r.done(ds...)
		return n
	}
	for left := len(o.sent) - take(inHand); left > 0; {
		left -= take(r.take(min(left, r.most/2)))
	}
	for left := len(o.unknown) + len(o.stayed) + 1; left > 0; {
		n := take(r.upTo(min(left, r.most/2), t.h.Quiet))
		if left -= n; n == 0 {
			break
		}
	}
	for i := range o.sent {
		if n := came[o.sent[i].ID.String()]; n != 1 {
			t.Errorf("Send of %s returned nil, and it came %d times", o.sent[i].ID, n)
		}
	}
	for i := range o.stayed {
		if n := came[o.stayed[i].ID.String()]; n != 0 {
			t.Errorf("Send of %s said that it was not sent, and it came", o.stayed[i].ID)
		}
	}
}

func endedContext(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	var o outcomes
	for _, ctx := range []context.Context{cancelled, late} {
		for _, n := range []int{1, 3} {
			rs := t.batch(n)
			if m := s.limits.MaxBatch; m > 0 {
				rs = rs[:min(n, m)]
			}
			o.add(rs, s.try(ctx, rs...))
		}
	}
	o.check(r)
	rec := t.record()
	s.send(rec)
	r.done(r.expect(rec)...)
}

func cancelledSends(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	var o outcomes
	const tries = 60
	for i := range tries {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(time.Duration(i)*50*time.Microsecond, cancel)
		rs := t.batch(1 + i%3)
		if m := s.limits.MaxBatch; m > 0 {
			rs = rs[:min(len(rs), m)]
		}
		start := time.Now()
		err := s.try(ctx, rs...)
		if took := time.Since(start); took > t.h.slack()+t.h.Wait/2 {
			t.Errorf("a Send that was cancelled after %v returned after %v", time.Duration(i)*50*time.Microsecond, took)
		}
		o.add(rs, err)
		timer.Stop()
		cancel()
	}
	o.check(r)
}

func sendAfterClose(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	s.close()
	ctx := t.soon()
	for range 2 {
		if err := s.try(ctx, t.record()); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("Send after Close: %v, want ErrClosed", err)
		}
	}
	if _, holds := s.s.(driver.Holder); holds {
		if err := s.tryAt(ctx, t.record()); !errors.Is(err, driver.ErrClosed) {
			t.Errorf("SendAt after Close: %v, want ErrClosed", err)
		}
	}
	r.none()
}

func closeBesideSend(t *T) {
	l := t.line()
	r := l.receiver()
	s := l.sender()
	const callers = 8
	results := make(chan outcomes, callers)
	for range callers {
		go func() {
			var o outcomes
			defer func() { results <- o }()
			for range 2 * t.h.Messages {
				rs := t.batch(1)
				ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
				err := s.try(ctx, rs...)
				cancel()
				o.add(rs, err)
				if errors.Is(err, driver.ErrClosed) {
					return
				}
				if err != nil {
					t.Errorf("Send beside Close: %v, want nil or ErrClosed", err)
					return
				}
			}
		}()
	}
	// The close comes when some records have arrived.
	first := r.take(callers)
	start := time.Now()
	s.close()
	if took := time.Since(start); took > t.h.slack() {
		t.Errorf("Sender.Close took %v; it flushes, and does not wait out a linger", took)
	}
	var all outcomes
	for range callers {
		o := <-results
		all.sent = append(all.sent, o.sent...)
		all.stayed = append(all.stayed, o.stayed...)
		all.unknown = append(all.unknown, o.unknown...)
	}
	all.check(r, first...)
}
