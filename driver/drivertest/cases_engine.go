package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry"
)

// The engine's promises, on this broker. What a backend's driver gets wrong in a way that no single call shows is seen
// here.
func engineCases() []Case {
	return []Case{
		{
			Name:     "engine/concurrency",
			Sentence: "A receiver hands out as many deliveries at once as its prefetch allows, so that as many handlers run as were asked for, and never more.",
			kinds:    shared, Run: concurrencyKept,
		},
		{
			Name:     "engine/message",
			Sentence: "A handler sees the message as it was published: value, id, key, headers, content type and time, at attempt 1.",
			kinds:    shared, Run: messageAsPublished,
		},
		{
			Name:     "engine/attempts",
			Sentence: "The attempt starts at 1 and is 1 + the calls that failed, and no retry comes earlier than its delay.",
			kinds:    shared, Run: attemptsCounted,
		},
		{
			Name:     "engine/defer",
			Sentence: "A defer counts as no attempt: after two defers the first real failure is followed by attempt 2.",
			kinds:    shared, Run: defersNotCounted,
		},
		{
			Name:     "engine/panic",
			Sentence: "A handler that panics has failed: its message is tried again, and others go on.",
			kinds:    shared, Run: panicRetries,
		},
		{
			Name:     "engine/long-handler",
			Sentence: "A handler that works for longer than the lease is called once, and so are those that wait behind it.",
			Needs:    []Ability{Lease}, kinds: shared, Run: handlerPastLease,
		},
		{
			Name:     "engine/group-retry",
			Sentence: "A retry in one group reaches that group alone.",
			kinds:    []kind{groupKind}, Run: retryInGroup,
		},
		{
			Name:     "engine/batch",
			Sentence: "The messages of a batch end as their outcomes say: one that failed comes again alone.",
			kinds:    shared, Run: batchOutcomes,
		},
		{
			Name:     "engine/ledger",
			Sentence: "Of many messages with handlers that fail, panic and defer now and then, each ends once and none is lost.",
			kinds:    shared, Run: engineLedger,
		},
	}
}

// soonRetry is a policy whose delays are short.
func (t *T) soonRetry(attempts int) wherry.PolicyOption {
	short, _ := t.delays()
	return wherry.RetryWith(wherry.RetryPolicy{
		MaxAttempts: attempts, Delays: []time.Duration{short}, Jitter: wherry.NoJitter,
	})
}

func concurrencyKept(t *T) {
	a := t.app()
	const workers, each = 2, 3
	const limit = workers * each
	var running, most atomic.Int64
	s := a.handle(func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		n := running.Add(1)
		defer running.Add(-1)
		for {
			seen := most.Load()
			if n <= seen || most.CompareAndSwap(seen, n) {
				break
			}
		}
		t.work(t.h.slack())
		return wherry.Ack()
	}, wherry.Workers(workers), wherry.Concurrency(each), wherry.Prefetch(each))
	all := texts(5 * limit)
	a.publish(all...)
	a.reach(len(all))
	s.stop()
	if got := most.Load(); got > limit {
		t.Errorf("%d handlers ran at once, with %d workers of %d", got, workers, each)
	}
	// Where partitions are few, one of the workers may have all of them.
	if got := most.Load(); got < each {
		t.Errorf("at most %d handlers ran at once, with a concurrency and a prefetch of %d at each of %d workers; "+
			"Receive brings more while earlier deliveries are unsettled", got, each, workers)
	}
	if got := a.calls.ids(); !sameSet(got, all) {
		t.Errorf("%d calls for %d messages", len(got), len(all))
	}
}

func messageAsPublished(t *T) {
	a := t.app()
	value := "value \u4e16\u754c\x00"
	type seen struct {
		value, id, key, contentType string
		headers                     []string
		attempt                     int
		published                   time.Time
	}
	got := make(chan seen, 10)
	a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		one := seen{
			value: m.Value, id: m.ID(), key: string(m.Key()), contentType: m.ContentType(),
			attempt: m.Attempt(), published: m.Published(),
		}
		for k, v := range m.Headers().All() {
			one.headers = append(one.headers, k+"="+v)
		}
		got <- one
		return wherry.Ack()
	})
	before := time.Now()
	err := a.pub.Publish(t.soon(), &value, wherry.WithID("the-id"), wherry.WithKey([]byte("the\x00key")),
		wherry.WithHeader("b", "2"), wherry.WithHeader("a", ""), wherry.WithHeader("b", "\t\u00fc"))
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	select {
	case m := <-got:
		const off = 10 * time.Millisecond // of the publisher's clock, and of brokers that keep milliseconds
		if m.published.Before(before.Add(-off)) || m.published.After(time.Now().Add(off)) {
			t.Errorf("published at %v, between %v and %v", m.published, before, time.Now())
		}
		want := seen{
			value: value, id: "the-id", key: "the\x00key", contentType: m.contentType,
			attempt: 1, published: m.published, headers: []string{"b=2", "a=", "b=\t\u00fc"},
		}
		if fmt.Sprint(m) != fmt.Sprint(want) || m.contentType == "" {
			t.Errorf("the handler saw %+q, want %+q", fmt.Sprint(m), fmt.Sprint(want))
		}
	case <-t.soon().Done():
		t.Errorf("no handler call within %v", t.h.Wait)
	}
}

func attemptsCounted(t *T) {
	a := t.app(t.soonRetry(10))
	short, _ := t.delays()
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		if a.calls.add(m) < 4 {
			return wherry.Retry(errors.New("not yet"))
		}
		return wherry.Ack()
	})
	a.publish("one")
	a.exactly(4)
	s.stop()
	if got := a.calls.attempts("one"); !slices.Equal(got, []int{1, 2, 3, 4}) {
		t.Errorf("attempts %v, want 1 2 3 4", got)
	}
	cs := a.calls.of("one")
	for i := 1; i < len(cs); i++ {
		if waited := cs[i].at.Sub(cs[i-1].at); waited < short-early {
			t.Errorf("attempt %d came %v after the one before, want %v or more", i+1, waited, short)
		}
	}
	a.l.empty()
}

func defersNotCounted(t *T) {
	a := t.app(t.soonRetry(3))
	short, _ := t.delays()
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		switch a.calls.add(m) {
		case 1, 2:
			return wherry.Defer(short)
		case 3:
			return wherry.Retry(errors.New("a real failure"))
		default:
			return wherry.Ack()
		}
	})
	a.publish("one")
	a.exactly(4)
	s.stop()
	if got := a.calls.attempts("one"); !slices.Equal(got, []int{1, 1, 1, 2}) {
		t.Errorf("attempts %v, want 1 1 1 2", got)
	}
}

func panicRetries(t *T) {
	a := t.app(t.soonRetry(5))
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		if n := a.calls.add(m); n == 1 && m.ID() == "text-0002" {
			outOfRange(n)
		}
		return wherry.Ack()
	})
	all := texts(5)
	a.publish(all...)
	a.exactly(len(all) + 1)
	s.stop()
	if got := a.calls.attempts("text-0002"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("attempts of the one whose handler panicked %v, want 1 2", got)
	}
	a.l.empty()
}

// outOfRange panics, as a handler with a mistake in it does.
func outOfRange(n int) { clear(make([]int, n)[n+1:]) }

func handlerPastLease(t *T) {
	a := t.app()
	lease := a.l.receiver().info.Lease
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		if m.ID() == "text-0000" {
			t.work(5 * lease / 2)
		}
		return wherry.Ack()
	}, wherry.NoHandlerTimeout(), wherry.Prefetch(10))
	all := texts(10)
	a.publish(all...)
	t.pause(3 * lease)
	a.exactly(len(all))
	s.stop()
	a.l.empty()
}

func retryInGroup(t *T) {
	one, two := t.pair()
	a := t.appOn(one, t.soonRetry(3))
	var other calls
	s := t.start(
		wherry.Consume(a.sourceOf(one), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			if a.calls.add(m) < 3 {
				return wherry.Retry(errors.New("not yet"))
			}
			return wherry.Ack()
		}),
		wherry.Consume(a.sourceOf(two), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			other.add(m)
			return wherry.Ack()
		}))
	a.publish("text")
	a.exactly(3)
	s.stop()
	if got := other.ids(); !slices.Equal(got, []string{"text"}) {
		t.Errorf("the group that did not fail saw %q", got)
	}
}

func batchOutcomes(t *T) {
	a := t.app(t.soonRetry(5))
	s := t.start(wherry.ConsumeBatch(a.source(), func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
		for i, m := range b.All() {
			if a.calls.add(m) == 1 && m.ID() == "text-0003" {
				b.Set(i, wherry.Retry(errors.New("this one")))
			}
		}
		return wherry.Ack()
	}, wherry.BatchSize(4), wherry.BatchAge(t.h.slack()/2)))
	all := texts(10)
	a.publish(all...)
	a.exactly(len(all) + 1)
	s.stop()
	if got := a.calls.attempts("text-0003"); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("attempts of the one that failed %v, want 1 2", got)
	}
	a.l.empty()
}

func engineLedger(t *T) {
	a := t.app(t.soonRetry(20))
	short, _ := t.delays()
	var ended sync.Map
	h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		n := a.calls.add(m)
		var i int
		if _, err := fmt.Sscanf(m.ID(), "text-%d", &i); err != nil {
			return wherry.Reject(err)
		}
		switch {
		case n == 1 && i%10 == 3:
			return wherry.Retry(errors.New("now and then"))
		case n == 1 && i%50 == 7:
			outOfRange(n)
		case n <= 2 && i%50 == 9:
			return wherry.Defer(short)
		}
		if _, twice := ended.LoadOrStore(m.ID(), true); twice {
			t.Errorf("%s ended twice", m.ID())
		}
		return wherry.Ack()
	}
	s := a.handle(h, wherry.Workers(2), wherry.Concurrency(4))
	all := texts(t.h.Messages / 2)
	a.publish(all...)
	count := func() (n int) {
		ended.Range(func(any, any) bool { n++; return true })
		return n
	}
	if !t.eventually(func() bool { return count() >= len(all) }) {
		t.Errorf("%d of %d messages ended", count(), len(all))
	}
	s.stop()
	a.l.empty()
}
