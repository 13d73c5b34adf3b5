package wherry

import (
	"context"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// bulk is what a lane needs to handle batches: it collects deliveries until there are enough of them, or enough bytes, or
// the first has waited long enough.
type bulk struct {
	run      batchFunc
	held     []*driver.Delivery // in hand; the worker's lock guards it
	passed   []*driver.Delivery // of those, what may reach the handler
	panicked func(v any) error

	// Used again for each batch.
	outcomes    []Outcome
	answers     []Outcome
	refused     []refusal
	settlements []driver.Settlement
	moves       []*move
}

func newBulk(l *lane) *bulk {
	b := &bulk{run: l.w.r.c.newBulk(l.w.r.c)}
	b.panicked = func(v any) error { return l.panicked(v, b.passed[0].ID.String()) }
	return b
}

// rounds handles batches until the worker stops, or a handler panics.
func (l *lane) rounds() {
	for {
		batch := l.w.collect(l)
		if batch == nil {
			return
		}
		l.settleBatch(batch, l.handleBatch(batch))
	}
}

// collect returns the next batch, nil at the end. One that is not full when the worker stops or pauses goes back to the
// broker.
func (w *worker) collect(l *lane) []*driver.Delivery {
	for {
		first := w.next(l, driver.Settlement{})
		if first == nil {
			return nil
		}
		if batch := w.fill(l, first); batch != nil {
			return batch
		}
	}
}

// fill adds to the first message of a batch, nil when there is to be none.
func (w *worker) fill(l *lane, first *driver.Delivery) []*driver.Delivery {
	spec := &w.r.c.spec
	due := time.Now().Add(spec.batchAge)
	b := l.bulk
	bytes := first.Size()
	w.mu.Lock()
	defer w.mu.Unlock()
	if soon := time.Now().Add(time.Millisecond); w.first && due.Before(soon) {
		due = soon // a batch is to have what there is, and that was not asked yet
	}
	w.first = false
	for len(b.held) < spec.batchSize && bytes < spec.batchBytes {
		if w.stopped || w.intake.Err() != nil || w.r.paused.Load() {
			for _, d := range b.held {
				w.settleLocked(driver.Settlement{Delivery: d})
			}
			l.release()
			w.flushLocked()
			return nil
		}
		if len(b.held) > 0 && w.nextIsSuspectLocked() {
			break // it has a batch of its own
		}
		if d := w.popLocked(); d != nil {
			b.held = append(b.held, d)
			bytes += d.Size()
			continue
		}
		if !w.roomLocked() && w.owingLocked() {
			w.flushLocked() // and look again
			continue
		}
		if !time.Now().Before(due) || w.r.patience.Err() != nil || !w.roomLocked() {
			break
		}
		ctx, stop := context.WithDeadline(w.r.patience, due)
		w.receiveLocked(ctx)
		stop()
	}
	if len(b.held) == 0 {
		return nil // all of it was revoked meanwhile
	}
	l.begin(w.r.clock.now())
	return b.held
}

// handleBatch takes a batch to outcomes, in its order. What must not reach the handler is taken out before.
func (l *lane) handleBatch(batch []*driver.Delivery) []Outcome {
	b := l.bulk
	spec := &l.w.r.c.spec
	b.outcomes = resize(b.outcomes, len(batch))
	b.refused = resize(b.refused, len(batch))
	b.passed = b.passed[:0]
	for i, d := range batch {
		if b.refused[i] = refuse(spec, d); b.refused[i] == 0 {
			b.passed = append(b.passed, d)
		}
	}
	passed := l.callBatch(b.passed)
	at := 0
	for i, d := range batch {
		if b.refused[i] != 0 {
			b.outcomes[i] = refused(spec, d, b.refused[i])
			continue
		}
		b.outcomes[i] = passed[at]
		at++
	}
	return b.outcomes
}

// callBatch calls the handler for the messages that may reach it.
func (l *lane) callBatch(ds []*driver.Delivery) []Outcome {
	if len(ds) == 0 {
		return nil
	}
	b := l.bulk
	b.answers = b.run(l.ctx, ds, b.answers[:0], b.panicked)
	l.ctx.end(ErrReturned)
	return b.answers
}

// settleBatch decides every message of a batch. The copies of one batch reach their mover together.
func (l *lane) settleBatch(batch []*driver.Delivery, outcomes []Outcome) {
	w := l.w
	if w.r.listening() {
		for i, d := range batch {
			l.tell(d, outcomes[i])
		}
	}
	settlements, moves := l.bulk.settlements[:0], l.bulk.moves[:0]
	for i, d := range batch {
		s, m := w.decide(l, d, outcomes[i])
		if m != nil {
			moves = append(moves, m)
			continue
		}
		settlements = append(settlements, s)
	}
	w.handOver(l, settlements, moves)
	clear(moves)
	clear(settlements)
	l.bulk.settlements, l.bulk.moves = settlements, moves
}
