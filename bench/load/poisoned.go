package load

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
)

// A corpus with a poisoned key has so many messages of it and of the others. The last key is the poisoned one, so that the
// others' numbers are dense without it.
type poison struct{ keys uint32 }

func (p poison) has(id uint32) bool { return id%p.keys == p.keys-1 }

// number is that of a message of another key among those of all other keys.
func (p poison) number(id uint32) uint32 { return id - id/p.keys }

// ill is how many of the first messages have the poisoned key.
func (p poison) ill(messages int64) int64 { return messages / int64(p.keys) }

// errPoisoned is why the messages of the key fail.
var errPoisoned = errors.New("the key is poisoned")

// poisonRetry tries a message again once within any window, and then not before the window is long over.
var poisonRetry = wherry.RetryPolicy{Delays: []time.Duration{10 * time.Millisecond, time.Minute}, Jitter: wherry.NoJitter}

// leaving is how long a consumer may take to stop that leaves the messages of the key at the broker: by itself it would wait for
// them as long as it may drain, since an in-process broker forgets them.
const leaving = 100 * time.Millisecond

// poisonedOnce is one window of a sequence of which one key fails. It is over when all messages of the other keys were handled.
// Then the broker must have those of the key still, and another consumer handles them, to which nothing of them is lost,
// repeated or out of order.
func poisonedOnce[T any](ctx context.Context, s *stage, b *body[T]) Report {
	if err := fill(ctx, s, b, 0, s.order.Messages); err != nil {
		return failed("fill: " + err.Error())
	}
	p, messages := poison{uint32(s.spec.Keys)}, int64(s.order.Messages)
	ill := p.ill(messages)
	well, handlers := messages-ill, shapeOf(s.spec).handlers()
	keys, gate := keysOf(s.spec), newGate(handlers)
	l := ledger.New(int(well))
	lanes := ledger.NewFinder[wherry.Message[T]](func() *ledger.Lane { return l.Lane(gate.hold) })
	var refused atomic.Int64
	handle := func(_ context.Context, m *wherry.Message[T]) wherry.Outcome {
		id := b.id(&m.Value)
		if p.has(id) {
			refused.Add(1)
			return wherry.Retry(errPoisoned)
		}
		keys.Note(id)
		lanes.Lane(m).Note(p.number(id))
		return wherry.Ack()
	}
	source := wherry.Sequence(s.relay, keyedOf(b, b.codec), wherry.OnFailure(wherry.Block))
	v := start(ctx, wherry.Consume(source, handle, wherry.Concurrency(handlers), wherry.RetryWith(poisonRetry), wherry.DrainTime(leaving)))
	defer v.stop() //nolint:errcheck // What it returns is judged below.
	defer gate.open()
	if err := s.barrier(ctx, gate, s.place(), messages); err != nil {
		return failed(err.Error())
	}
	passed := l.Told()
	if 2*passed >= well {
		return failed(errFew.Error())
	}
	w := openWindow()
	gate.open()
	await(ctx, l, well)
	run := w.close(well-passed, time.Time{})
	err := stopped(v, ill)
	if end := l.Last(); !end.IsZero() {
		run.ElapsedNS = int64(end.Sub(w.begun))
	}
	run.Ledger = l.Judge(well, ledger.Order{Promised: s.spec.Ordered, Streams: s.spec.Keys - 1})
	run.Ledger.Reordered = max(run.Ledger.Reordered, keys.Reordered())
	if none := s.blocked(ctx, run.Ledger, ill, refused.Load(), err); none != nil {
		return Report{None: none}
	}
	rest, err := mended(ctx, s, b, p, ill)
	run.Ledger = sum(run.Ledger, rest)
	if none := s.judge(ctx, run.Ledger, s.place(), err); none != nil {
		return Report{None: none}
	}
	return Report{Run: &run}
}

// stopped stops a consumer that is to leave so many messages at the broker, and says so itself.
func stopped(v *service, ill int64) error {
	err := v.stop()
	unfinished, ok := errors.AsType[*wherry.AbandonedError](err)
	if ok && unfinished.Handlers == 0 && unfinished.Unknown == nil && int64(unfinished.Left) == ill {
		return nil
	}
	return err
}

// blocked is the reason why a run is void before its key is mended, nil if it is not.
func (s *stage) blocked(ctx context.Context, l document.Ledger, ill, refused int64, runErr error) *document.Reason {
	wrong := faultsOf(l)
	left, err := s.relay.left(ctx, s.place())
	switch {
	case len(wrong) > 0 || runErr != nil || err != nil:
		return s.judge(ctx, l, s.place(), runErr)
	case refused == 0:
		return failed("no message of the poisoned key came to its handler").None
	case left >= 0 && left != ill:
		return failed(fmt.Sprintf("%d messages are left at the broker, and %d have the poisoned key", left, ill)).None
	default:
		return nil
	}
}

// mended handles what is left of the key, now that nothing fails any more.
func mended[T any](ctx context.Context, s *stage, b *body[T], p poison, ill int64) (document.Ledger, error) {
	l := ledger.New(int(ill))
	lanes := ledger.NewFinder[wherry.Message[T]](func() *ledger.Lane { return l.Lane(nil) })
	handle := func(_ context.Context, m *wherry.Message[T]) wherry.Outcome {
		number := uint32(ill) // One that was never published: it belongs to no other key.
		if id := b.id(&m.Value); p.has(id) {
			number = id / p.keys
		}
		lanes.Lane(m).Note(number)
		return wherry.Ack()
	}
	v := start(ctx, wherry.Consume(wherry.Sequence(s.relay, keyedOf(b, b.filling)), handle))
	await(ctx, l, ill)
	err := v.stop()
	return l.Judge(ill, ledger.Order{Promised: s.spec.Ordered}), err
}

// sum is what became of the messages of two accounts.
func sum(a, b document.Ledger) document.Ledger {
	a.Published += b.Published
	a.Handled += b.Handled
	a.Lost += b.Lost
	a.Duplicated += b.Duplicated
	a.Reordered += b.Reordered
	return a
}
