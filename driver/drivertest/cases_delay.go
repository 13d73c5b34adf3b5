package drivertest

import (
	"time"

	"github.com/wherryhq/wherry/driver"
)

func delayCases() []Case {
	needs := []Ability{Delay}
	return []Case{
		{
			Name:     "delay/release",
			Sentence: "What is released with a delay comes again after it, never earlier, as it was.",
			Needs:    needs, kinds: shared, Run: releaseDelayed,
		},
		{
			Name:     "delay/short-first",
			Sentence: "What is released with a short delay does not wait behind what is released with a long one.",
			Needs:    needs, kinds: shared, Run: releaseShortFirst,
		},
		{
			Name:     "delay/close",
			Sentence: "What was released with a delay does not need the receiver that released it.",
			Needs:    needs, kinds: shared, Run: releaseThenClose,
		},
		{
			Name:     "delay/credit",
			Sentence: "What waits for its delay takes no prefetch: other records come meanwhile.",
			Needs:    needs, kinds: shared, Run: delayedTakeNoCredit,
		},
	}
}

// delay is a time that the broker can hold a release for.
func (r *receiver) delay(want time.Duration) time.Duration {
	return min(max(want, 2*r.info.DelayGrain), r.info.MaxDelay)
}

func (r *receiver) releaseFor(d time.Duration, ds ...*driver.Delivery) {
	batch := settlements(driver.Release, ds...)
	for i := range batch {
		batch[i].Delay = d
	}
	r.must(batch...)
}

func releaseDelayed(t *T) {
	l := t.line()
	r := l.receiver()
	rec := t.record()
	l.send(rec)
	short, _ := t.delays()
	for range 2 {
		ds := r.expect(rec)
		delay := r.delay(short)
		start := time.Now()
		r.releaseFor(delay, ds...)
		again := r.expect(rec)
		if took := time.Since(start); took < delay-early {
			t.Errorf("released for %v, it came again after %v", delay, took)
		}
		r.release(again...)
	}
	r.done(r.expect(rec)...)
}

func releaseShortFirst(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.batch(2)
	l.send(records...)
	r.expect(records...)
	byID := r.inHand()
	short, long := t.delays()
	short, long = r.delay(short), r.delay(2*long)
	r.releaseFor(long, byID[records[0].ID.String()])
	r.releaseFor(short, byID[records[1].ID.String()])
	ds := r.take(2)
	if short < long && ds[0].ID.String() != records[1].ID.String() {
		t.Errorf("the one released for %v came before the one released for %v", long, short)
	}
	r.done(ds...)
}

func releaseThenClose(t *T) {
	l := t.line()
	r := l.receiver()
	rec := t.record()
	l.send(rec)
	short, _ := t.delays()
	start := time.Now()
	delay := r.delay(short)
	r.releaseFor(delay, r.expect(rec)...)
	r.close()
	next := l.receiver()
	next.done(next.expect(rec)...)
	if took := time.Since(start); took < delay-early {
		t.Errorf("released for %v, it came again after %v", delay, took)
	}
}

func delayedTakeNoCredit(t *T) {
	l := t.line()
	src := l.source()
	src.Prefetch = 10
	r := l.receiverOf(src)
	failing := t.batch(src.Prefetch)
	s := l.sender()
	s.send(failing...)
	r.releaseFor(r.delay(t.h.Wait/2), r.expect(failing...)...)
	start := time.Now()
	good := t.batch(2 * src.Prefetch)
	s.send(good...)
	for range 2 {
		r.done(r.take(src.Prefetch)...)
	}
	if took := time.Since(start); took > t.h.slack() && took > r.delay(t.h.Wait/2)/2 {
		t.Errorf("with %d delayed and a prefetch of %d, the others took %v", len(failing), src.Prefetch, took)
	}
	r.done(r.expect(failing...)...)
}
