package drivertest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"weak"

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
			kinds:    settled, Run: memoryReturned,
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

// memoryReturned uses the driver without the suite's own bookkeeping, which keeps what it saw. It looks at the very bytes
// that went in and came out, since the size of the heap is everybody's.
func memoryReturned(t *T) {
	l := t.line()
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
	const bodySize, window = 16 << 10, 32
	n := max(10*window, min(t.h.Messages, 1000)) / window * window
	var sent, received []weak.Pointer[byte]
	for range n / window {
		for range window {
			rec := t.record()
			rec.Body = make([]byte, bodySize)
			if err := s.Send(ctx, []driver.Record{rec}); err != nil {
				t.Fatalf("Send: %v", err)
			}
			sent = append(sent, weak.Make(&rec.Body[0]))
		}
		received = t.drain(ctx, r, window, received)
	}
	t.closing("Sender.Close", s.Close)
	t.closing("Receiver.Close", r.Close)
	if alive := aliveOf(sent); alive > 0 {
		t.Errorf("%d of %d bodies that were sent are still referred to", alive, n)
	}
	if alive := aliveOf(received); alive > 2*window {
		t.Errorf("%d of %d bodies that were settled are still kept; no more than %d were there at once", alive, n, window)
	}
}

// drain receives and settles n deliveries and appends a pointer to the body of each.
func (t *T) drain(ctx context.Context, r driver.Receiver, n int, to []weak.Pointer[byte]) []weak.Pointer[byte] {
	for n > 0 {
		ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, n))
		if err != nil && (ctx.Err() != nil || errors.Is(err, driver.ErrClosed)) {
			t.Fatalf("Receive: %v", err)
		}
		for _, d := range ds {
			to = append(to, weak.Make(&d.Body[0]))
		}
		if err := r.Settle(ctx, settlements(driver.Done, ds...)); err != nil {
			t.Fatalf("Settle: %v", err)
		}
		n -= len(ds)
	}
	return to
}

// aliveOf counts the different pointers whose memory is still in use.
func aliveOf(ps []weak.Pointer[byte]) int {
	// Pools are emptied by the second collection.
	for range 3 {
		runtime.GC()
	}
	alive := map[*byte]bool{}
	for _, p := range ps {
		if b := p.Value(); b != nil {
			alive[b] = true
		}
	}
	return len(alive)
}
