package drivertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/wherryhq/wherry"
)

// Starting, stopping and publishing.
func engineStopCases() []Case {
	return []Case{
		{
			Name: "engine/stop-during-handler",
			Sentence: "Stopping while a handler works leaves it its context and its publisher until it returns: its output is " +
				"published and its input settled, once.",
			kinds: shared, Run: stopDuringHandler,
		},
		{
			Name:     "engine/stop-not-counted",
			Sentence: "A handler that fails because the drain time ended its context has used up no attempt: the message comes again at attempt 1.",
			kinds:    shared, Run: stopNotCounted,
		},
		{
			Name:     "engine/stop-releases",
			Sentence: "What a stopped consumer had fetched and not handled goes to another at once, at attempt 1.",
			kinds:    shared, Run: stopReleases,
		},
		{
			Name:     "engine/run-again",
			Sentence: "A consumer that was stopped can run again, and goes on where it was.",
			kinds:    shared, Run: runAgain,
		},
		{
			Name:     "engine/publish-cancel",
			Sentence: "A Publish that is cancelled tells the truth: nil was published, ErrNotSent was not, and nothing else than these and ErrUnconfirmed is said.",
			kinds:    shared, Run: publishCancelled,
		},
		{
			Name:     "engine/publish-closed",
			Sentence: "Publishing after Publisher.Close is ErrClosed and publishes nothing.",
			kinds:    shared, Run: publishClosed,
		},
		{
			Name:     "engine/publish-all",
			Sentence: "PublishAll publishes every value once, and says of each that it could not.",
			kinds:    shared, Run: publishAll,
		},
	}
}

func stopDuringHandler(t *T) {
	a, out := t.app(), t.app()
	started := make(chan struct{}, 10)
	s := a.handle(func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		started <- struct{}{}
		t.work(t.h.slack())
		if err := ctx.Err(); err != nil {
			t.Errorf("the handler's context ended before the drain time: %v", context.Cause(ctx))
		}
		result := m.Value + " handled"
		if err := out.pub.Publish(ctx, &result, wherry.WithID(result)); err != nil {
			t.Errorf("Publish from a handler during the drain: %v", err)
			return wherry.Retry(err)
		}
		return wherry.Ack()
	}, wherry.DrainTime(t.h.Wait))
	a.publish("text")
	select {
	case <-started:
	case <-t.soon().Done():
		t.Fatalf("no handler call within %v", t.h.Wait)
	}
	s.stop()
	if got := a.calls.ids(); !slices.Equal(got, []string{"text"}) {
		t.Errorf("handler calls for %q, want one", got)
	}
	a.l.empty()
	r := out.l.receiver()
	ds := r.take(1)
	if ds[0].ID.String() != "text handled" {
		t.Errorf("came %q", ids(ds))
	}
	r.done(ds...)
	r.none()
}

func stopNotCounted(t *T) {
	a := t.app(wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1}))
	started := make(chan struct{}, 10)
	h := func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
		if a.calls.add(m) > 1 {
			return wherry.Ack()
		}
		started <- struct{}{}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, wherry.ErrDraining) {
			t.Errorf("the handler's context ended with %v, want ErrDraining", cause)
		}
		return wherry.Retry(ctx.Err())
	}
	s := a.handle(h, wherry.DrainTime(t.h.slack()/2), wherry.GraceTime(t.h.slack()))
	a.publish("text")
	select {
	case <-started:
	case <-t.soon().Done():
		t.Fatalf("no handler call within %v", t.h.Wait)
	}
	s.stop()
	s = a.handle(h)
	a.exactly(2)
	s.stop()
	if got := a.calls.attempts("text"); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("attempts %v, want 1 1", got)
	}
	a.l.empty()
}

func stopReleases(t *T) {
	a := t.app()
	started := make(chan struct{}, 100)
	leave := make(chan struct{})
	s := a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		started <- struct{}{}
		select {
		case <-leave:
		case <-t.Context().Done():
		}
		return wherry.Ack()
	}, wherry.Prefetch(32))
	all := texts(20)
	a.publish(all...)
	select {
	case <-started:
	case <-t.soon().Done():
		t.Fatalf("no handler call within %v", t.h.Wait)
	}
	s.cancel()
	close(leave)
	s.stop()
	first := a.calls.ids()
	var next calls
	s = a.handle(func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		next.add(m)
		if m.Attempt() != 1 {
			t.Errorf("%s, which was fetched and not handled, comes at attempt %d", m.ID(), m.Attempt())
		}
		return wherry.Ack()
	})
	if !t.eventually(func() bool { return len(next.ids())+len(first) >= len(all) }) {
		t.Errorf("%d handled before the stop, %d after, of %d", len(first), len(next.ids()), len(all))
	}
	s.stop()
	if got := slices.Concat(first, next.ids()); !sameSet(got, all) {
		t.Errorf("handled %q, want each of %q once", got, all)
	}
}

func runAgain(t *T) {
	a := t.app()
	c := wherry.Consume(a.source(), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
		a.calls.add(m)
		return wherry.Ack()
	})
	all := texts(6)
	for i := range 3 {
		s := t.start(c)
		a.publish(all[2*i : 2*i+2]...)
		a.reach(2*i + 2)
		s.stop()
	}
	if got := a.calls.ids(); !sameSet(got, all) {
		t.Errorf("handled %q, want each of %q once", got, all)
	}
}

func publishCancelled(t *T) {
	a := t.app()
	r := a.l.receiver()
	var o outcomes
	const tries = 40
	for i, text := range texts(tries) {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(time.Duration(i)*50*time.Microsecond, cancel)
		err := a.pub.Publish(ctx, &text, wherry.WithID(text))
		timer.Stop()
		cancel()
		if fateOf(err) == bare {
			t.Errorf("a Publish that was cancelled returned %v", err)
		}
		rec := t.record()
		rec.ID.Text = text
		o.add(append(t.batch(0), rec), err)
	}
	o.check(r)
}

func publishClosed(t *T) {
	a := t.app()
	r := a.l.receiver()
	t.closing("Publisher.Close", a.pub.Close)
	text := "late"
	if err := a.pub.Publish(t.soon(), &text); !errors.Is(err, wherry.ErrClosed) {
		t.Errorf("Publish after Close: %v, want ErrClosed", err)
	}
	r.none()
}

func publishAll(t *T) {
	a := t.app()
	r := a.l.receiver()
	all := texts(300)
	err := a.pub.PublishAll(t.soon(), func(yield func(*string) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	})
	if err != nil {
		t.Fatalf("PublishAll: %v", err)
	}
	var bodies []string
	for range 6 {
		ds := r.take(50)
		for _, d := range ds {
			bodies = append(bodies, string(d.Body))
		}
		r.done(ds...)
	}
	if !sameSet(bodies, all) {
		t.Errorf("%d bodies came of %d that were published, not the same ones", len(bodies), len(all))
	}
	r.none()
}
