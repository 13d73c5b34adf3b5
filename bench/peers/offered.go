package main

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/versus/program"
)

// ahead is how long before the first message the schedule begins.
const ahead = 20 * time.Millisecond

// A clock is the schedule of an offered load, and when each message was sent and handled, in nanoseconds since the intended
// time of the first. Each message is written by one goroutine, and all are read when the run is over.
type clock struct {
	begin   time.Time
	rate    int
	sent    []int64
	late    []int64 // how late each was sent, as far as the pacer is at fault
	handled []int64
}

func newClock(messages, rate int) *clock {
	return &clock{
		rate: rate, sent: make([]int64, messages), late: make([]int64, messages), handled: make([]int64, messages),
	}
}

func (c *clock) now() int64 { return int64(time.Since(c.begin)) }

// intended is when message i is to be sent.
func (c *clock) intended(i int) int64 { return int64(i) * int64(time.Second) / int64(c.rate) }

// arrived notes that a message reached its handler.
func (c *clock) arrived(id uint32) { c.handled[id] = c.now() }

// offered sends every message at its time, whatever became of those before.
func (b *bed) offered(ctx context.Context, s *subject) (*program.Answer, error) {
	if s.send == nil {
		return program.Unsupported("%s takes no offered load", b.Subject), nil
	}
	// The schedule begins before the consumers do, since they read the clock.
	b.clock.begin = time.Now().Add(ahead)
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	begin := now()
	lag, took, err := b.pace(ctx, s)
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	end, err := b.finish(ctx, s)
	if err != nil {
		return nil, err
	}
	c := b.clock
	load := &document.Load{
		ScheduledNS: c.intended(b.Messages - 1),
		Published:   int64(b.Messages),
		PublishNS:   took,
		PeakLag:     lag,
		Ledger:      b.judged(s),
		CPUNS:       end.cpu - begin.cpu,
		PeakRSS:     host.PeakMemory(),
	}
	waits := func(since func(i int) int64) *document.Quantiles {
		all := make([]int64, len(c.handled))
		for i := range all {
			all[i] = max(0, since(i))
		}
		return quantiles(all)
	}
	load.Latency = waits(func(i int) int64 { return c.handled[i] - c.intended(i) })
	load.FromSend = waits(func(i int) int64 { return c.handled[i] - c.sent[i] })
	load.Lateness = waits(func(i int) int64 { return c.late[i] })
	return &program.Answer{Load: load, Settings: s.settings}, nil
}

// pace is the producer. It does not sleep while it waits, since no timer is as exact as the gaps of a high rate; it gives
// way to whoever has something to do. It is at fault for the time from when a message was due, and the send before it was
// over, to when it is sent. What the sends before it took is the subject's, and counts in its latency.
func (b *bed) pace(ctx context.Context, s *subject) (lag, took int64, err error) {
	c := b.clock
	free := int64(0) // when the send before was over
	for i := range b.Messages {
		due := c.intended(i)
		for c.now() < due {
			runtime.Gosched()
		}
		c.sent[i] = c.now()
		c.late[i] = c.sent[i] - max(due, free)
		if err := s.send(ctx, uint32(i)); err != nil {
			return 0, 0, err
		}
		free = c.now()
		lag = max(lag, int64(i+1)-b.ledger.Told())
	}
	return lag, free - c.sent[0], nil
}

// quantiles are values that were measured: the smallest that so many do not exceed. They sort values.
func quantiles(values []int64) *document.Quantiles {
	slices.Sort(values)
	at := func(q float64) int64 {
		rank := int(math.Ceil(q * float64(len(values))))
		return values[min(max(rank, 1), len(values))-1]
	}
	return &document.Quantiles{P50: at(0.50), P95: at(0.95), P99: at(0.99), P999: at(0.999), Max: at(1)}
}
