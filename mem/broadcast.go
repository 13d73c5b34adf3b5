package mem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/wherryhq/wherry/driver"
)

// OpenBroadcast opens a reader of fan-outs that gets every record which is sent from now on: what a Send that begins after
// OpenBroadcast returned brings, and nothing from before. What was sent to one group alone is not for it. The topics need no
// group.
//
// The reader has a queue of its own, which is gone with Close. It keeps no sender waiting: what is ready for it above
// [Config.MaxBroadcast] is dropped, the oldest first, and [Broker.Missed] counts it. What is sent with a due time is bounded
// as for groups. A wipe of the topology loses what the reader did not receive.
//
// This broker keeps no history: a source from the head or from a time is an error that matches [errors.ErrUnsupported]. See
// [Broker.OpenGroup] for what the receiver can do.
func (b *Broker) OpenBroadcast(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	switch {
	case s.Group != "":
		return nil, fmt.Errorf("mem: a broadcast is opened with group %q: use OpenGroup", s.Group)
	case s.From.Head || !s.From.Time.IsZero():
		return nil, fmt.Errorf("mem: a broadcast begins now, since the broker keeps no history to begin in: %w", errors.ErrUnsupported)
	}
	return b.open(ctx, s, reading)
}

// Missed is how many records of the topic were dropped since broadcast readers were too slow for them, closed readers
// included, over the life of the broker. It is 0 for a topic that no reader had.
func (b *Broker) Missed(topic string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.missed[topic]; n != nil {
		return n.Load()
	}
	return 0
}

// addReaders makes a reader's queues. The caller holds b.mu.
func (b *Broker) addReaders(s driver.Source) ([]*queue, error) {
	topics, err := b.topicsOf(s, true)
	if err != nil {
		return nil, err
	}
	queues := make([]*queue, len(topics))
	for i, t := range topics {
		n := b.missed[t.name]
		if n == nil {
			n = new(atomic.Int64)
			b.missed[t.name] = n
		}
		queues[i] = b.add(t, &queue{topic: t.name, missed: n})
		t.heard.Store(true)
	}
	return queues, nil
}

// removeReaders takes a reader's queues off their topics.
func (b *Broker) removeReaders(members []*member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range members {
		t := b.topics[m.q.topic]
		if t == nil {
			continue
		}
		// First off the topic, or a sender that finds the queue ended would find it there again.
		left := slices.DeleteFunc(slices.Clone(t.all()), func(q *queue) bool { return q == m.q })
		t.queues.Store(&left)
		m.q.end(errReceiverClosed)
	}
}

// readers are the queues of all readers of a source's topics. The caller holds b.mu.
func (b *Broker) readers(s driver.Source) ([]*queue, error) {
	topics, err := b.topicsOf(s, true)
	if err != nil {
		return nil, err
	}
	var queues []*queue
	for _, t := range topics {
		for _, q := range t.all() {
			if q.missed != nil {
				queues = append(queues, q)
			}
		}
	}
	return queues, nil
}

// trim drops the oldest of what is ready for a reader that is too slow.
func (q *queue) trim() {
	c := &q.b.cfg
	n := 0
	for q.ready.n > 1 && (q.ready.n > c.MaxBroadcast || q.bytes > c.MaxBroadcastBytes) {
		q.recycle(q.pop())
		n++
	}
	if n > 0 {
		q.missed.Add(int64(n))
	}
}

// holdsForReader is holds for a reader, of which what is ready counts apart.
func (q *queue) holdsForReader(size int) bool {
	d, most := &q.delay, q.b.cfg.bound(driver.Main)
	return d.messages == 0 || d.messages < most.messages && d.bytes+size <= most.bytes
}
