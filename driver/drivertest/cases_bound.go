package drivertest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/driver"
)

func boundCases() []Case {
	return []Case{
		{
			Name:     "bounds/goroutines",
			Sentence: "A sender and a receiver that are closed leave no goroutine behind while the broker stays open.",
			kinds:    kinds, Run: goroutinesReturned,
		},
		{
			Name:     "bounds/memory",
			Sentence: "What was sent, settled and closed is not kept in memory.",
			kinds:    settled, Alone: true, Run: memoryReturned,
		},
	}
}

func goroutinesReturned(t *T) {
	l := t.line()
	use := func() {
		s, r := l.sender(), l.receiver()
		rec := t.record()
		s.send(rec)
		ds := r.expect(rec)
		r.done(ds...)
		s.close()
		r.close()
	}
	use() // what the first use starts may stay with the broker
	stacks := func() []string {
		all, err := goroutinesOf(t.label)
		if err != nil {
			t.Fatalf("%v", err)
		}
		return all
	}
	var before []string
	for range 3 {
		t.pause(t.h.slack() / 10)
		before = stacks()
	}
	const times = 10
	for range times {
		use()
	}
	var after []string
	if !t.eventually(func() bool { after = stacks(); return count(after) <= count(before) }) {
		added := slices.DeleteFunc(slices.Clone(after), func(s string) bool { return slices.Contains(before, s) })
		t.Errorf("%d goroutines before, %d after %d uses; new:\n%s",
			count(before), count(after), times, strings.Join(added, "\n\n"))
	}
}

// memoryReturned uses the driver without the suite's own bookkeeping, which keeps what it saw.
func memoryReturned(t *T) {
	l := t.line()
	const bodySize = 16 << 10
	n := min(t.h.Messages, 1000)
	round := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 6*t.h.Wait)
		defer cancel()
		s, err := l.b.OpenSender(ctx, l.target())
		if err != nil {
			t.Fatalf("OpenSender: %v", err)
		}
		r, err := l.kind.open(ctx, l.b, l.source())
		if err != nil {
			t.Fatalf("opening a %s: %v", l.kind.name, err)
		}
		dst := make([]*driver.Delivery, 0, 32)
		for sent := 0; sent < n; sent += cap(dst) {
			for range cap(dst) {
				rec := t.record()
				rec.Body = make([]byte, bodySize)
				if err := s.Send(ctx, []driver.Record{rec}); err != nil {
					t.Fatalf("Send: %v", err)
				}
			}
			for got := 0; got < cap(dst); {
				ds, err := r.Receive(ctx, dst[:0:cap(dst)-got])
				if err != nil && (ctx.Err() != nil || errors.Is(err, driver.ErrClosed)) {
					t.Fatalf("Receive: %v", err)
				}
				got += len(ds)
				if err := r.Settle(ctx, settlements(driver.Done, ds...)); err != nil {
					t.Fatalf("Settle: %v", err)
				}
			}
		}
		t.closing("Sender.Close", s.Close)
		t.closing("Receiver.Close", r.Close)
	}
	round()
	before := liveBytes()
	const rounds = 4
	for range rounds {
		round()
	}
	grown := int64(liveBytes()) - int64(before)
	if limit := int64(n) * bodySize; grown > limit {
		t.Errorf("after %d messages of %d bytes the heap is %d bytes larger, which is more than %d of them",
			rounds*n, bodySize, grown, n)
	}
}

func liveBytes() uint64 {
	// Pools are emptied by the second collection.
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
