package drivertest

import (
	"context"
	"sync"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
)

// The engine on a broker that fails.
func engineFaultCases() []Case {
	return []Case{
		{
			Name:     "engine/cut",
			Sentence: "A consumer outlives a cut connection: it goes on when the broker is back, and nothing is lost.",
			Hooks:    []string{HookCut}, kinds: shared, Run: engineThroughCut,
		},
		{
			Name: "engine/cut-health",
			Sentence: "A consumer whose broker is away is not ready meanwhile, and ready again afterwards: its receiver says so by an error of " +
				"Receive, or as a Waiter.",
			Hooks: []string{HookCut}, kinds: shared, Run: healthThroughCut,
		},
		{
			Name: "engine/cut-settle",
			Sentence: "A consumer whose settlements are cut off, before they are at the broker or before the answer is there, handles every " +
				"message, and none is left.",
			Hooks: writeHooks, kinds: shared, Run: engineThroughCutSettlements,
		},
		{
			Name: "engine/revoke",
			Sentence: "When a tenure ends while handlers run, they finish, what they had not touched goes to another consumer, and no " +
				"more is repeated than was in hand.",
			Needs: []Ability{Revoke}, Hooks: []string{HookRevoke}, kinds: shared, Run: engineThroughRevocation,
		},
	}
}

func engineThroughCut(t *T) {
	a := t.app(t.soonRetry(20))
	var ended sync.Map
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		ended.Store(m.ID(), true)
		return wherry.Ack()
	}, wherry.Concurrency(4))
	all := texts(100)
	a.publish(all[:50]...)
	a.reach(10)
	mend := t.h.Cut(t, a.l.b)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.publish(all[50:]...)
	}()
	t.pause(t.h.Quiet)
	mend()
	<-done
	left := func() (missing []string) {
		for _, id := range all {
			if _, ok := ended.Load(id); !ok {
				missing = append(missing, id)
			}
		}
		return missing
	}
	if !t.eventually(func() bool { return len(left()) == 0 }) {
		t.Errorf("%d of %d messages did not come through a cut: %q", len(left()), len(all), left())
	}
	s.stop()
}

func healthThroughCut(t *T) {
	a := t.app()
	c := wherry.Consume(a.source(), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		return wherry.Ack()
	})
	s := t.start(c)
	a.publish("before")
	a.reach(1)
	mend := t.h.Cut(t, a.l.b)
	if !t.eventually(func() bool { return !c.Health().Ready }) {
		t.Errorf("the connection is cut for %v, and the consumer is ready; Receive returns an error, or Waiting the text of ErrDisconnected",
			t.h.Wait)
	} else if t.pause(t.h.Quiet); c.Health().Ready {
		t.Errorf("the connection is still cut, and the consumer is ready again: Waiting says the text of ErrDisconnected for as long as it lasts, " +
			"and Receive fails again")
	}
	mend()
	if !t.eventually(func() bool { return c.Health().Ready }) {
		t.Errorf("the connection is back for %v, and the consumer is not ready: %+v", t.h.Wait, c.Health())
	}
	a.publish("after")
	a.reach(2)
	s.stop()
}

func engineThroughCutSettlements(t *T) {
	a := t.app(t.soonRetry(20))
	const messages = 60
	all := texts(messages)
	a.publish(all...)
	h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		t.work(t.h.slack() / 10)
		return wherry.Ack()
	}
	s := a.handle(h, wherry.Prefetch(10))
	for i, arm := range []writeHook{t.h.CutBeforeWrite, t.h.CutAfterWrite} {
		a.reach(10 * (i + 1))
		disarm := arm(t, a.l.b, a.l.topic)
		a.reach(10*(i+1) + 5)
		disarm()
	}
	seen := func() int {
		different := map[string]bool{}
		for _, id := range a.calls.ids() {
			different[id] = true
		}
		return len(different)
	}
	if !t.eventually(func() bool { return seen() == messages }) {
		t.Errorf("%d of %d messages were handled", seen(), messages)
	}
	s.stop()
	a.l.empty()
}

// A tapped broker hands on the receivers that are opened from it. The engine sees the receivers as they are.
type (
	tappedQueuer struct {
		driver.Queuer
		opened chan driver.Receiver
	}
	tappedGrouper struct {
		driver.Grouper
		opened chan driver.Receiver
	}
	// tappedBoth is a tapped grouper that has queues as well, which hold topics and dead letters are.
	tappedBoth struct {
		tappedGrouper
		queues driver.Queuer
	}
)

// OpenQueue opens a receiver.
func (b tappedBoth) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.queues.OpenQueue(ctx, s)
}

// OpenQueue opens a receiver and hands it on.
func (b tappedQueuer) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.Queuer.OpenQueue(ctx, s)
	if err == nil {
		b.opened <- r
	}
	return r, err
}

// OpenGroup opens a receiver and hands it on.
func (b tappedGrouper) OpenGroup(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.Grouper.OpenGroup(ctx, s)
	if err == nil {
		b.opened <- r
	}
	return r, err
}

// tapped is the line over a broker that hands on what is opened.
func (l *line) tapped(opened chan driver.Receiver) *line {
	q, isQueuer := l.b.(driver.Queuer)
	g, isGrouper := l.b.(driver.Grouper)
	group := tappedGrouper{Grouper: g, opened: opened}
	switch {
	case l.kind.grouped && isGrouper && isQueuer:
		return l.over(tappedBoth{tappedGrouper: group, queues: q})
	case l.kind.grouped && isGrouper:
		return l.over(group)
	case isQueuer:
		return l.over(tappedQueuer{Queuer: q, opened: opened})
	default:
		l.t.Fatalf("%T has no %s", l.b, l.kind.name)
		return nil
	}
}

func engineThroughRevocation(t *T) {
	a := t.app(t.soonRetry(20))
	const concurrency, messages = 2, 30
	opened := make(chan driver.Receiver, messages)
	h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		t.work(t.h.slack() / 4)
		return wherry.Ack()
	}
	opts := []wherry.ConsumeOption{wherry.Concurrency(concurrency), wherry.Prefetch(messages)}
	first := t.start(wherry.Consume(a.sourceOf(a.l.tapped(opened)), h, opts...))
	all := texts(messages)
	a.publish(all...)
	a.reach(concurrency)
	select {
	case r := <-opened:
		t.h.Revoke(t, r)
	default:
		t.Fatalf("handlers were called, and no receiver was opened through the broker that they are of")
	}
	second := a.handle(h, opts...)
	seen := func() int {
		different := map[string]bool{}
		for _, id := range a.calls.ids() {
			different[id] = true
		}
		return len(different)
	}
	if !t.eventually(func() bool { return seen() == messages }) {
		t.Errorf("%d of %d messages were handled", seen(), messages)
	}
	t.pause(t.h.Quiet)
	if n := a.calls.count(); n > messages+concurrency {
		t.Errorf("%d calls for %d messages, of which %d were in hand at the revocation", n, messages, concurrency)
	}
	first.stop()
	second.stop()
	a.l.empty()
}
