package mem

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// Stall stops deliveries from the topic without a word: receivers wait as if nothing were there, until
// [Faults.Unstall].
func (f *Faults) Stall(topic string) { f.set(topic, func(t *topicFaults) { t.stalled = true }) }

// Unstall ends [Faults.Stall].
func (f *Faults) Unstall(topic string) { f.set(topic, func(t *topicFaults) { t.stalled = false }) }

// PauseQueue stops deliveries from the topic as an operator does: its receivers say "paused", until
// [Faults.ResumeQueue].
func (f *Faults) PauseQueue(topic string) { f.set(topic, func(t *topicFaults) { t.paused = true }) }

// ResumeQueue ends [Faults.PauseQueue].
func (f *Faults) ResumeQueue(topic string) { f.set(topic, func(t *topicFaults) { t.paused = false }) }

// Drop loses the next n deliveries of the topic for good, as a broker that loses data does. They are counted in
// [Faults.Dropped].
func (f *Faults) Drop(topic string, n int) {
	f.set(topic, func(t *topicFaults) { t.drop = counter(n) })
}

// Dropped is how many records [Faults.Drop] has lost.
func (f *Faults) Dropped() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dropped
}

// Duplicate delivers the next n deliveries of the topic a second time, as records of their own with the same id.
func (f *Faults) Duplicate(topic string, n int) {
	f.set(topic, func(t *topicFaults) { t.duplicate = counter(n) })
}

// Reorder hands out what is ready in a random order, which is the same for the same seed and the same calls. Seed 0 is
// the publish order again. Where receivers own keys it is the keys that come in a random order.
func (f *Faults) Reorder(topic string, seed uint64) {
	f.set(topic, func(t *topicFaults) {
		t.shuffle = nil
		if seed != 0 {
			t.shuffle = &shuffle{rand.New(rand.NewPCG(seed, seed))}
		}
	})
}

// A shuffle picks what is handed out next.
type shuffle struct{ *rand.Rand }

// FailSettle fails the next n settlements of deliveries of the topic, neighbours in a batch not included. They are not
// applied and may be tried again.
func (f *Faults) FailSettle(topic string, n int) {
	f.set(topic, func(t *topicFaults) { t.failSettle = counter(n) })
}

// SlowSettle makes every Settle with a delivery of the topic take this much longer. 0 is no delay.
func (f *Faults) SlowSettle(topic string, d time.Duration) {
	f.set(topic, func(t *topicFaults) { t.slow = d })
}

// CutBeforeSettle cuts the connection before the next n settlements of deliveries of the topic are applied, neighbours in a batch
// not included: they fail with [driver.ErrDisconnected], and the deliveries go back, uncounted as a release is not. To
// settle one again is [driver.ErrRevoked].
func (f *Faults) CutBeforeSettle(topic string, n int) {
	f.set(topic, func(t *topicFaults) { t.settleCut = counter(n) })
}

// CutAfterSettle is CutBeforeSettle, but that the settlements are applied before, a delay of theirs left out.
func (f *Faults) CutAfterSettle(topic string, n int) {
	f.set(topic, func(t *topicFaults) { t.settleLost = counter(n) })
}

var (
	errSettleFailed = errors.New("mem: settlement refused")
	errSettleCut    = fmt.Errorf("mem: connection cut before the settlement: %w", driver.ErrDisconnected)
	errSettleLost   = fmt.Errorf("mem: connection cut after the settlement: %w", driver.ErrDisconnected)
)

// halted reports whether nothing is handed out of the topic.
func (f *Faults) halted(topic string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cut != Connected || f.any(topic, func(t *topicFaults) bool { return t.stalled || t.paused })
}

// allowed is how many ready entries may be taken from q now. The caller holds the lock of q.
func (b *Broker) allowed(q *queue) int {
	if b.faults.halted(q.topic) {
		return 0
	}
	return min(q.ready.n, q.credit())
}

// lossy drops what is to be dropped of what could be taken now. The caller holds the lock.
func (q *queue) lossy() {
	for q.available() > 0 && q.loses() {
		q.recycle(q.pop())
	}
	q.admit()
}

// loses reports whether the next delivery is to be lost, and counts it.
func (q *queue) loses() bool {
	f := &q.b.faults
	if !f.happens(q.topic, func(t *topicFaults) bool { return t.drop.next() }) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropped++
	return true
}

// takeOdd is the part of take that hands out, while something is switched on.
func (m *member) takeOdd(dst []*driver.Delivery, n int) []*driver.Delivery {
	q, f := m.q, &m.q.b.faults
	var twice []*entry
	for range n {
		i := 0
		f.happens(q.topic, func(t *topicFaults) bool {
			if t.shuffle != nil {
				i = t.shuffle.IntN(q.ready.n)
			}
			return t.shuffle != nil
		})
		e := q.ready.remove(i)
		q.ready.insert(0, e)
		dst = m.give(dst, 1)
		twice = m.odd(e, twice)
	}
	for _, e := range twice {
		q.requeue(e)
	}
	return dst
}

// odd does to an entry that was handed out what is switched on, and appends to twice what is to come again.
func (m *member) odd(e *entry, twice []*entry) []*entry {
	m.mark(e)
	if m.q.b.cfg.Weak.NoCount {
		e.delivery.Delivered = 0
	}
	if m.q.b.faults.happens(m.q.topic, func(t *topicFaults) bool { return t.duplicate.next() }) {
		twice = append(twice, e.copied())
	}
	return twice
}

// trouble returns an error when the broker is away or the receiver closed, or that nothing is to be taken now.
func (r *receiver) trouble() (wait bool, err error) {
	select {
	case <-r.done:
		return false, r.over()
	default:
	}
	f := &r.b.faults
	f.mu.Lock()
	cut := f.cut
	f.mu.Unlock()
	switch cut {
	case HardCut:
		r.leave()
		return false, errAway
	case SoftCut:
		r.depart()
		return true, nil
	case Connected:
	}
	return false, nil
}

// Waiting returns "broker away", "no topic", "rebalancing", "paused", "no credit", or "".
func (r *receiver) Waiting() string {
	f := &r.b.faults
	if f.away() != nil {
		return "broker away"
	}
	members := r.currentMembers()
	for _, m := range members {
		switch reason := m.waiting(); {
		case reason != "":
			return reason
		case f.happens(m.q.topic, func(t *topicFaults) bool { return t.paused }):
			return "paused"
		}
	}
	return ""
}

// waiting is why the queue gives the member nothing.
func (m *member) waiting() string {
	q := m.q
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.over != nil && !m.gone:
		return "no topic"
	case m.ending != nil:
		return "rebalancing"
	case q.waits() > 0 && q.credit() == 0:
		return "no credit"
	default:
		return ""
	}
}

// settleOdd is Settle while something is switched on. It goes one by one.
func (r *receiver) settleOdd(ctx context.Context, batch []driver.Settlement) error {
	if err := r.settleSlowly(ctx, batch); err != nil {
		return err
	}
	var f failures
	now := r.leaseNow()
	for i := range batch {
		if err := r.settleOne(&batch[i], now); err != nil {
			f.add(len(batch), i, err)
		}
	}
	return f.err(len(batch))
}

// settleSlowly waits as long as the slowest topic of the batch takes.
func (r *receiver) settleSlowly(ctx context.Context, batch []driver.Settlement) error {
	var longest time.Duration
	for i := range batch {
		q := r.name(batch[i].Delivery).q
		if q == nil {
			continue
		}
		r.b.faults.happens(q.topic, func(t *topicFaults) bool {
			longest = max(longest, t.slow)
			return false
		})
	}
	if longest == 0 {
		return nil
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.done:
		return nil // what was held is given back, which the settlements find out
	case <-ctx.Done():
		return fmt.Errorf("mem: settle: %w", context.Cause(ctx))
	}
}

func (r *receiver) settleOne(s *driver.Settlement, now time.Duration) error {
	n := r.name(s.Delivery)
	q := n.q
	if q == nil {
		return errForeign
	}
	f := &r.b.faults
	q.mu.Lock()
	defer q.unlock()
	e, err := n.find(r, s.Delivery, now)
	late := err != nil && e != nil && r.b.cfg.Weak.AcceptLateSettlements
	switch {
	case err != nil && !late:
		return err
	case f.away() != nil:
		return errAway
	case f.happens(q.topic, func(t *topicFaults) bool { return t.failSettle.next() }):
		return errSettleFailed
	case late:
		err = q.settleLate(e, s)
	case f.happens(q.topic, func(t *topicFaults) bool { return t.settleCut.next() }):
		q.settleLost(e, driver.Release)
		err = errSettleCut
	case f.happens(q.topic, func(t *topicFaults) bool { return t.settleLost.next() }):
		q.settleLost(e, s.Verdict)
		err = errSettleLost
	default:
		q.settle(e, s)
		err = nil
	}
	n.forget()
	return err
}
