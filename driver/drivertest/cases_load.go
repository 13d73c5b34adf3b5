package drivertest

import (
	"fmt"
	"sync"
)

func loadCases() []Case {
	return []Case{
		{
			Name:     "load/ledger",
			Sentence: "Eight senders and eight receivers at once lose nothing, repeat nothing, and, where order is kept, reorder nothing.",
			kinds:    settled, Run: loadLedger,
		},
		{
			Name:     "load/one-sender",
			Sentence: "A sender that eight goroutines use at once loses nothing and repeats nothing.",
			kinds:    settled, Run: loadOneSender,
		},
	}
}

func loadLedger(t *T) {
	l := t.line()
	c := t.crowd()
	const senders, receivers, keys = 8, 8, 4
	for range receivers {
		r := l.receiver()
		r.none()
		c.consume(r)
	}
	var sending sync.WaitGroup
	for i := range senders {
		s := l.sender()
		records := t.batch(t.h.Messages / senders)
		for j := range records {
			records[j].Key = fmt.Appendf(nil, "sender-%d-%d", i, j%keys)
		}
		sending.Go(func() { c.send(s, records) })
	}
	sending.Wait()
	t.wantClean(l.kind, c.finish(), t.h.Messages/senders*senders)
}

func (t *T) wantClean(k kind, rep Report, n int) {
	if !k.keyed {
		rep.Reordered = nil // no order was asked for
	}
	if !rep.Clean() || rep.Settled != n {
		t.Errorf("%d messages: %v", n, rep)
	}
}

func loadOneSender(t *T) {
	l := t.line()
	c := t.crowd()
	r := l.receiver()
	r.none()
	c.consume(r)
	s := l.sender()
	const callers = 8
	var sending sync.WaitGroup
	for i := range callers {
		records := t.batch(t.h.Messages / callers)
		for j := range records {
			records[j].Key = fmt.Appendf(nil, "caller-%d", i)
		}
		sending.Go(func() { c.send(s, records) })
	}
	sending.Wait()
	t.wantClean(l.kind, c.finish(), t.h.Messages/callers*callers)
}
