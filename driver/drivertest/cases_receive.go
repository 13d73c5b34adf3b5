package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func receiveCases() []Case {
	return []Case{
		{
			Name:     "receive/append",
			Sentence: "Receive appends after what dst holds, and fills dst to its capacity at most.",
			kinds:    kinds, Run: receiveAppends,
		},
		{
			Name:     "receive/waits",
			Sentence: "Receive waits for the first delivery and then does not wait for more.",
			kinds:    kinds, Run: receiveWaits,
		},
		{
			Name:     "receive/stop",
			Sentence: "Receive returns within StopWithin of its context's end, with the context's error.",
			kinds:    kinds, Run: receiveStops,
		},
		{
			Name:     "receive/stop-loses-nothing",
			Sentence: "A Receive whose context ends keeps nothing back: what it had taken is returned, or comes at the next.",
			kinds:    kinds, Run: stopLosesNothing,
		},
		{
			Name:     "receive/lazy",
			Sentence: "A receiver that never calls Receive takes nothing: the others get all.",
			kinds:    shared, Run: nothingBeforeReceive,
		},
		{
			Name:     "receive/topics",
			Sentence: "A source of several topics brings the records of each, and each delivery names its topic.",
			kinds:    kinds, Run: severalTopics,
		},
		{
			Name:     "receive/info",
			Sentence: "Info is constant, not negative, and the same for every receiver of a source.",
			kinds:    kinds, Run: infoConstant,
		},
	}
}

func receiveAppends(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.batch(20)
	l.send(records...)
	// The observed receiver checks the element before, and the capacity, at every call.
	var all []*driver.Delivery
	limit := time.Now().Add(t.h.Wait)
	for room := 1; len(all) < len(records) && time.Now().Before(limit); room++ {
		ctx, cancel := context.WithDeadline(context.Background(), limit)
		got, err := r.once(ctx, min(room, len(records)-len(all)))
		cancel()
		all = append(all, got...)
		if r.fatal(err) {
			break
		}
	}
	t.wantAll(ids(all), records)
	r.done(all...)
}

func receiveWaits(t *T) {
	l := t.line()
	r, s := l.receiver(), l.sender()
	r.none()
	rec := t.record()
	s.send(rec)
	start := time.Now()
	r.done(r.expectWithin(rec)...)
	if took := time.Since(start); took > t.h.slack() {
		t.Errorf("one record was there, and Receive with room for 32 took %v", took)
	}
	// A receiver that already waits is woken.
	came := make(chan []*driver.Delivery, 1)
	go func() {
		defer close(came)
		came <- r.upTo(1, t.h.Wait)
	}()
	t.pause(t.h.Quiet / 5)
	s.send(t.record())
	ds := <-came
	if len(ds) != 1 {
		t.Fatalf("a Receive that waited was not woken by a record")
	}
	r.done(ds...)
}

// expectWithin receives one record with room for many.
func (r *receiver) expectWithin(rec driver.Record) []*driver.Delivery {
	const room = 32
	ctx, cancel := context.WithTimeout(context.Background(), r.t.h.Wait)
	defer cancel()
	ds, err := r.once(ctx, room)
	if !slices.Equal(ids(ds), []string{rec.ID.String()}) {
		r.t.Fatalf("Receive brought %q and %v, want %q", ids(ds), err, rec.ID)
	}
	return ds
}

func receiveStops(t *T) {
	l := t.line()
	r := l.receiver()
	r.none() // it is connected, assigned, and idle
	within := r.info.StopWithin + t.h.slack()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, f := range map[string]func() (context.Context, context.CancelFunc){
		"cancelled before": func() (context.Context, context.CancelFunc) { return ended, func() {} },
		"past its deadline": func() (context.Context, context.CancelFunc) {
			return context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
		},
		"cancelled meanwhile": func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(t.h.slack(), cancel)
			return ctx, cancel
		},
		"with a deadline": func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(context.Background(), t.h.slack())
		},
	} {
		ctx, cancel := f()
		result := make(chan error, 1)
		go func() {
			defer close(result)
			_, err := r.once(ctx, 1)
			result <- err
		}()
		<-ctx.Done()
		start := time.Now()
		err := <-result
		if took := time.Since(start); took > within {
			t.Errorf("%s: Receive returned %v after its context's end; StopWithin is %v", name, took, r.info.StopWithin)
		}
		if !errors.Is(err, ctx.Err()) {
			t.Errorf("%s: Receive returned %v, want %v", name, err, ctx.Err())
		}
		cancel()
	}
}

func stopLosesNothing(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.batch(200)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range records {
			s.send(records[i])
			t.pause(time.Duration(i%5) * 500 * time.Microsecond)
		}
	})
	var came []string
	limit := time.Now().Add(t.h.Wait)
	for i := 0; len(came) < len(records) && time.Now().Before(limit); i++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+i%7)*time.Millisecond)
		if i%2 == 0 {
			ctx, cancel = context.WithCancel(context.Background())
			time.AfterFunc(time.Duration(1+i%5)*time.Millisecond, cancel)
		}
		got, err := r.once(ctx, 8)
		cancel()
		came = append(came, ids(got)...)
		r.done(got...)
		if r.fatal(err) {
			break
		}
	}
	wg.Wait()
	t.wantAll(came, records)
	r.none()
}

func nothingBeforeReceive(t *T) {
	l := t.line()
	idle := l.receiver()
	records := t.batch(50)
	l.send(records...)
	t.pause(t.h.Quiet / 5) // what it would fetch of its own accord, it has by now
	busy := l.receiver()
	busy.done(busy.expect(records...)...)
	idle.close()
	busy.none()
}

func severalTopics(t *T) {
	a, b := t.line(), t.line()
	src := a.source()
	src.Topics = append(src.Topics, b.topic)
	r := a.receiverOf(src)
	ofA, ofB := t.batch(10), t.batch(10)
	a.send(ofA...)
	b.send(ofB...)
	ds := r.expect(slices.Concat(ofA, ofB)...)
	for _, d := range ds {
		want := b.topic.Name
		if slices.Contains(recordIDs(ofA), d.ID.String()) {
			want = a.topic.Name
		}
		if d.Topic != want {
			t.Errorf("%s names topic %q, was sent to %q", d.ID, d.Topic, want)
		}
	}
	r.done(ds...)
	r.none()
}

func infoConstant(t *T) {
	l := t.line()
	r, other := l.receiver(), l.receiver()
	if a, b, c := r.r.Info(), r.info, other.info; a != b || b != c {
		t.Errorf("Info differs: %+v, %+v, %+v", a, b, c)
	}
	i := r.info
	if i.SettleBatch < 0 || min(i.SettleLinger, i.StopWithin, i.Lease, i.MaxDelay, i.DelayGrain) < 0 {
		t.Errorf("a fact is negative: %+v", i)
	}
}
