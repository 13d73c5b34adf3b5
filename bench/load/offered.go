package load

import (
	"context"
	"errors"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/matrix"
)

// offered publishes at a rate and counts, for each message, the time from when it was meant to go to when its handler had
// it. Each handler has had one message before the first is due.
func offered[T any](ctx context.Context, s *stage, b body[T], pace func(*matrix.Spec) *pacer) Report {
	topic, at := topicOf(s, &b, b.codec), s.place()
	p, err := wherry.NewPublisher(ctx, s.relay, topic)
	if err != nil {
		return failed(err.Error())
	}
	handlers := shapeOf(s.spec).handlers()
	pacer := pace(s.spec)
	c := &counted[T]{
		ledger: ledger.New(handlers + pacer.count), gate: newGate(handlers), id: b.id, work: s.work, clock: pacer.now,
	}
	v := start(ctx, c.consumer(s.spec, sourceOf(s, &b, b.codec)))
	defer v.stop() //nolint:errcheck // What it returns is judged below.
	defer c.gate.open()
	if err := warm(ctx, p, &b, c.gate); err != nil {
		return failed(err.Error())
	}
	if err := s.barrier(ctx, c.gate, at, int64(handlers)); err != nil {
		return failed(err.Error())
	}
	c.gate.open()
	w := openWindow()
	value := b.fresh()
	done, err := pacer.run(ctx, func(i int) error {
		b.number(&value, uint32(handlers+i))
		return p.Publish(ctx, &value)
	})
	if err != nil {
		return failed("publish: " + err.Error())
	}
	messages := handlers + len(done.sent)
	await(ctx, c.ledger, int64(messages))
	cpu := host.ProcessorTime() - w.cpu
	err = errors.Join(v.stop(), p.Close(ctx))
	l := c.judge(s.spec, int64(messages), 1)
	if none := s.judge(ctx, l, at, err); none != nil {
		return Report{None: none}
	}
	load := measured(c.ledger, pacer, done, handlers)
	l.Published -= int64(handlers) // What came before the first was due is in no number of the row.
	l.Handled -= int64(handlers)
	load.Ledger, load.CPUNS, load.PeakRSS = l, cpu, host.PeakMemory()
	return Report{Load: load}
}

// measured makes a load of what a pacer and the handlers noted, whose first messages were before the pacer.
func measured(l *ledger.Ledger, p *pacer, done paced, before int) *document.Load {
	n := len(done.sent)
	handled := make([]int64, 0, n)
	latency, fromSend := make([]int64, 0, n), make([]int64, 0, n)
	l.Entries(func(id uint32, at int64) {
		i := int(id) - before
		if i < 0 || i >= n {
			return
		}
		handled = append(handled, at)
		latency = append(latency, at-p.intended(i))
		fromSend = append(fromSend, at-done.sent[i])
	})
	return &document.Load{
		ScheduledNS: p.intended(max(0, p.count-1)) - p.start,
		Published:   int64(n),
		PublishNS:   done.end - p.start,
		PeakLag:     peakLag(done.sent, handled),
		Latency:     quantilesOf(latency),
		FromSend:    quantilesOf(fromSend),
		Lateness:    quantilesOf(done.late),
	}
}
