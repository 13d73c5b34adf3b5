package drivertest

import (
	"context"
	"testing"

	"github.com/wherryhq/wherry/driver"
)

// writeHooks are those that cut a connection around a write.
var writeHooks = []string{HookCutBeforeWrite, HookCutAfterWrite}

type writeHook = func(tb testing.TB, b driver.Broker, t driver.Topic) (disarm func())

// Writes whose connection is cut before they are at the broker, or after that and before the answer.
func answerCases() []Case {
	return []Case{
		{
			Name: "fault/cut-before-send",
			Sentence: "A Send whose connection is cut before the write tells the truth: a record that it confirms is there once, and one " +
				"that it says was not sent never comes.",
			Hooks: []string{HookCutBeforeWrite}, kinds: settled, Run: func(t *T) { cutSend(t, t.h.CutBeforeWrite) },
		},
		{
			Name: "fault/cut-after-send",
			Sentence: "A Send whose answer is lost tells the truth: the record is there, and Send says that it is, or that it may be. Never " +
				"does it say that it was not sent.",
			Hooks: []string{HookCutAfterWrite}, kinds: settled, Run: func(t *T) { cutSend(t, t.h.CutAfterWrite) },
		},
		{
			Name: "fault/cut-before-settle",
			Sentence: "A settlement whose connection is cut before the write is applied later or never: what stays unsettled comes again, " +
				"once, and what is settled does not.",
			Hooks: []string{HookCutBeforeWrite}, kinds: settled, Run: func(t *T) { cutSettle(t, t.h.CutBeforeWrite, true) },
		},
		{
			Name: "fault/cut-after-settle",
			Sentence: "A settlement whose answer is lost costs a redelivery at the most, and what was released so comes again. It ends no " +
				"other delivery.",
			Hooks: []string{HookCutAfterWrite}, kinds: settled, Run: func(t *T) { cutSettle(t, t.h.CutAfterWrite, false) },
		},
	}
}

// cutSend sends alone and in a batch, each cut off once.
func cutSend(t *T, arm writeHook) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	first := t.record()
	s.send(first)
	r.done(r.expect(first)...)
	var o outcomes
	for _, n := range []int{1, 3} {
		rs := s.parts(t.batch(n))[0]
		disarm := arm(t, l.b, l.topic)
		ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
		err := s.try(ctx, rs...)
		cancel()
		disarm()
		o.add(rs, err)
	}
	last := t.batch(1)
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
	defer cancel()
	var err error
	if !t.eventually(func() bool { err = s.try(ctx, last...); return err == nil }) {
		t.Fatalf("the connection was cut for a moment, and Send fails: %v", err)
	}
	o.add(last, nil)
	o.check(r)
}

// cutSettle, of five in hand, settles four in one call that is cut off, two as done and two as released. lost tells that what the
// call wrote never was at the broker.
func cutSettle(t *T, arm writeHook, lost bool) {
	const done = 2
	l := t.line()
	r := l.receiver()
	records := t.batch(5)
	l.send(records...)
	byID := map[string]*driver.Delivery{}
	for _, d := range r.expect(records...) {
		byID[d.ID.String()] = d
	}
	names := recordIDs(records)
	batch := settlements(driver.Release, byID[names[0]], byID[names[1]], byID[names[2]], byID[names[3]])
	for i := range done {
		batch[i].Verdict = driver.Done
	}
	disarm := arm(t, l.b, l.topic)
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
	err := r.settle(ctx, batch...)
	cancel()
	disarm()
	ended := map[string]bool{}
	for i := range done {
		ended[names[i]] = driver.EntryError(err, i) == nil
	}
	came := map[string]int{}
	take := func(ds []*driver.Delivery) {
		for _, d := range ds {
			came[d.ID.String()]++
		}
	}
	back := r.upTo(len(batch), t.h.Quiet)
	take(back)
	// As the engine does, what failed is tried again; a release that failed is left to the end of the receiver.
	open := append([]*driver.Delivery{byID[names[0]], byID[names[1]], byID[names[4]]}, back...)
	again, cancelAgain := context.WithTimeout(context.Background(), t.h.Wait)
	for name, ok := range r.settleOpen(again, open...) {
		ended[name] = ended[name] || ok
	}
	cancelAgain()
	r.close()
	next := l.receiver()
	rest := next.upTo(len(records), t.h.Quiet)
	take(rest)
	next.done(rest...)
	next.none()

	for i, name := range names {
		if came[name] > 1 {
			t.Errorf("%s was in hand when a settlement was cut off, and came again %d times", name, came[name])
		}
		switch must := lost || i == len(batch); {
		case came[name] > 0:
		case i >= done && i < len(batch):
			t.Errorf("%s was released in a call that was cut off, and did not come again", name)
		case must && !ended[name]:
			t.Errorf("%s was not settled, and did not come again", name)
		}
	}
}
