package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/versus/program"
)

const (
	// lookEvery is the time between two looks at how far the consumers are.
	lookEvery = 500 * time.Microsecond
	// stalled is how long nothing may be handled before a run has failed.
	stalled = 30 * time.Second
	// settled is how long nothing more must be told before the rest is taken for what no lane has told.
	settled = time.Second
)

// A bed is what a subject is measured in.
type bed struct {
	*program.Options
	ledger *ledger.Ledger
	gate   *gate        // of a drain, else nil
	clock  *clock       // of an offered load, else nil
	keys   *ledger.Keys // of a sequence, else nil
}

const (
	flowSequence = "sequence"
	// sequenceKeys is the number of keys that the messages of a sequence have in turn, at each subject.
	sequenceKeys = 1000
)

// lane is the part of the ledger of one receiver.
func (b *bed) lane() *ledger.Lane {
	if b.gate == nil {
		return b.ledger.Lane(nil)
	}
	return b.ledger.Lane(b.gate.hold)
}

// timed is how many messages count in the time: of a drain in batches all but one batch for each consumer, since the last of
// a consumer may wait for its age.
func (b *bed) timed() int {
	if b.Method == document.Drain && b.Flow == "batch" {
		return max(b.Messages-b.Consumers*batchSize, b.Consumers+1)
	}
	return b.Messages
}

// ordered tells whether order is promised: to one receiver of a queue, and by key.
func (b *bed) ordered() bool { return b.Subject == "wherry" && (b.Consumers == 1 || b.keys != nil) }

// mark is a moment, and what the process used until then.
type mark struct {
	at  time.Time
	cpu int64
}

func now() mark { return mark{time.Now(), host.ProcessorTime()} }

// measure runs the cell of o: once, or a drain in as many windows as it asks for, each with a subject of its own.
func measure(ctx context.Context, o *program.Options) (*program.Answer, error) {
	if o.Method == document.Drain && o.Window > 0 {
		return windows(o, func() (*program.Answer, error) { return once(ctx, o) })
	}
	return once(ctx, o)
}

// windows makes one run of windows that last as long together as o asks for.
func windows(o *program.Options, once func() (*program.Answer, error)) (*program.Answer, error) {
	all := ledger.NewWindows(time.Duration(o.Window)*time.Millisecond, true)
	for {
		a, err := once()
		if err != nil {
			return nil, err
		}
		if a.None != nil {
			return a, nil
		}
		a.Run.ElapsedNS = max(a.Run.ElapsedNS, 1)
		all.Add(a.Run)
		if !all.More() {
			a.Run = all.Run()
			return a, nil
		}
	}
}

// once opens the subject of o and runs its cell once.
func once(ctx context.Context, o *program.Options) (*program.Answer, error) {
	b := &bed{Options: o}
	b.ledger = ledger.NewTimed(o.Messages, b.timed())
	if o.Flow == flowSequence {
		b.keys = ledger.NewKeys(sequenceKeys)
	}
	switch o.Method {
	case document.Drain:
		b.gate = newGate(o.Consumers)
	case document.Offered:
		b.clock = newClock(o.Messages, o.Rate)
	default:
	}
	s, err := subjects[o.Subject](ctx, b)
	if lack, ok := errors.AsType[missing](err); ok {
		return program.Unsupported("%s", lack), nil
	}
	if err != nil {
		return nil, err
	}
	switch o.Method {
	case document.Drain:
		return b.drain(ctx, s)
	case document.Offered:
		return b.offered(ctx, s)
	default:
		return b.live(ctx, s)
	}
}

// live publishes and consumes at once. The window is from the first publish to the last message.
func (b *bed) live(ctx context.Context, s *subject) (*program.Answer, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	begin := now()
	if err := s.feed(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	end, err := b.finish(ctx, s)
	if err != nil {
		return nil, err
	}
	return b.ran(s, begin, end, int64(b.Messages)), nil
}

// drain consumes what was published before. The window opens when every receiver has a message.
func (b *bed) drain(ctx context.Context, s *subject) (*program.Answer, error) {
	if err := s.feed(ctx); err != nil {
		return nil, err
	}
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	if err := b.gate.wait(stalled); err != nil {
		b.gate.open()
		return nil, errors.Join(err, s.stop())
	}
	begin := now()
	b.gate.open()
	end, err := b.finish(ctx, s)
	if err != nil {
		return nil, err
	}
	return b.ran(s, begin, end, int64(b.timed()-b.Consumers)), nil
}

// finish waits for the last message and stops the subject.
func (b *bed) finish(ctx context.Context, s *subject) (mark, error) {
	if s.counted != nil {
		err := s.stop()
		return now(), err
	}
	waited := b.await(ctx, b.timed())
	end := now()
	if waited == nil {
		waited = b.await(ctx, b.Messages)
	}
	if err := errors.Join(waited, s.stop()); err != nil {
		return end, err
	}
	if last := b.ledger.Last(); !last.IsZero() {
		end.at = last
	}
	return end, nil
}

// await waits until so many messages were handled. It is an error when none is for a while. Some lanes may tell of their last
// messages late, so the count settles before anything is stopped: a subject may drop what is on its way then.
func (b *bed) await(ctx context.Context, want int) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	before, since := int64(-1), time.Now()
	for {
		told := b.ledger.Told()
		switch still := time.Since(since); {
		case told >= int64(want):
			return nil
		case told != before:
			before, since = told, time.Now()
		case told+b.ledger.Untold() >= int64(want) && still > settled:
			return nil
		case still > stalled:
			return fmt.Errorf("no progress for %v: about %d of %d messages were handled", stalled, told, b.Messages)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// judged is the ledger of a run that is over.
func (b *bed) judged(s *subject) document.Ledger {
	if s.counted != nil {
		return document.Ledger{Published: int64(b.Messages), Handled: s.counted()}
	}
	if b.keys == nil {
		return b.ledger.Judge(int64(b.Messages), ledger.Order{Promised: b.ordered()})
	}
	l := b.ledger.Judge(int64(b.Messages), ledger.Order{Promised: b.ordered(), Streams: sequenceKeys})
	l.Reordered = max(l.Reordered, b.keys.Reordered()) // The ledger sees each lane by itself.
	return l
}

func (b *bed) ran(s *subject, begin, end mark, messages int64) *program.Answer {
	return &program.Answer{Settings: s.settings, Run: &document.Run{
		Messages:  messages,
		ElapsedNS: int64(end.at.Sub(begin.at)),
		CPUNS:     end.cpu - begin.cpu,
		PeakRSS:   host.PeakMemory(),
		Ledger:    b.judged(s),
	}}
}
