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
	held     []*driver.Delivery        // in hand; the worker's lock guards it, lost and due
	lost     map[*driver.Delivery]bool // of those, what was revoked while their handler ran; nil until something was
	due      time.Time                 // when the first of held has waited long enough
	passed   []*driver.Delivery        // of those, what may reach the handler, where something may not
	calling  []*driver.Delivery        // what the handler was called with
	panicked func(v any) error
	some     bool   // only passed were called with, and the others refused
	state    *batch // what the handler set

	// Used again for each batch.
	outcomes    []Outcome
	refused     []refusal
	settlements []driver.Settlement
	moves       []*move
}

func newBulk(l *lane) *bulk {
	b := &bulk{run: l.w.r.c.newBulk(l.w.r.c)}
	b.panicked = func(v any) error { return l.panicked(v, b.calling[0].ID.String()) }
	return b
}

// rounds handles batches until the worker stops, or a handler panics.
func (l *lane) rounds() {
	for {
		batch := l.w.collect(l)
		if batch == nil {
			return
		}
		each, all := l.handleBatch(batch)
		l.settleBatch(batch, each, all)
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

// lose notes what was revoked of the batch in hand. The others are the worker's still. The worker's lock is held.
func (b *bulk) lose(d *driver.Delivery) {
	if b.lost == nil {
		b.lost = make(map[*driver.Delivery]bool)
	}
	b.lost[d] = true
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
	b.due = due
	for len(b.held) < spec.batchSize && bytes < spec.batchBytes {
		if w.stopped || w.intake.Err() != nil || w.r.paused.Load() {
			for _, d := range b.held {
				w.unsuspectLocked(d)
				w.settleLocked(driver.Settlement{Delivery: d})
			}
			l.release()
			w.flushLocked()
			return nil
		}
		if len(b.held) > 0 && w.nextIsSuspectLocked() {
			break // it has a batch of its own
		}
		if n := w.addLocked(b, spec.batchSize, spec.batchBytes-bytes); n > 0 {
			bytes += n
			continue
		}
		if !w.roomLocked() && w.owingLocked() {
			w.flushLocked() // and look again
			continue
		}
		if !time.Now().Before(due) || w.patience.Err() != nil || !w.roomLocked() {
			break
		}
		ctx, stop := context.WithDeadline(w.patience, due)
		w.receiveLocked(ctx)
		stop()
	}
	if len(b.held) == 0 {
		return nil // all of it was revoked meanwhile
	}
	l.begin(w.r.clock.now())
	return b.held
}

// addLocked adds to a batch what is there, until it has size messages or room bytes more, and returns how many bytes it
// added, counting at least one for each message.
func (w *worker) addLocked(b *bulk, size, room int) int {
	ready := w.buf[w.head:]
	ready = ready[:min(len(ready), size-len(b.held))]
	n, bytes := 0, 0
	for n < len(ready) && bytes < room && (ready[n] != w.suspect || len(b.held)+n == 0) {
		bytes += max(ready[n].Size(), 1)
		n++
	}
	b.held = append(b.held, ready[:n]...)
	clear(ready[:n])
	w.head += n
	return bytes
}

// handleBatch takes a batch to outcomes, in its order, or to one for all where each is nil. What must not reach the handler
// is taken out before.
func (l *lane) handleBatch(batch []*driver.Delivery) (each []Outcome, all Outcome) {
	for _, d := range batch {
		if refuse(l.spec, d) != 0 {
			return l.handlePassed(batch), Outcome{}
		}
	}
	l.bulk.some = false
	return l.callBatch(batch)
}

// handlePassed is handleBatch where something is refused.
func (l *lane) handlePassed(batch []*driver.Delivery) []Outcome {
	b := l.bulk
	b.outcomes = resize(b.outcomes, len(batch))
	b.refused = resize(b.refused, len(batch))
	b.passed, b.some = b.passed[:0], true
	for i, d := range batch {
		if b.refused[i] = refuse(l.spec, d); b.refused[i] == 0 {
			b.passed = append(b.passed, d)
		}
	}
	each, all := l.callBatch(b.passed)
	return l.withRefused(batch, each, all)
}

// withRefused is the outcomes of a batch by those of what was passed on.
func (l *lane) withRefused(batch []*driver.Delivery, each []Outcome, all Outcome) []Outcome {
	b := l.bulk
	at := 0
	for i, d := range batch {
		switch {
		case b.refused[i] != 0:
			b.outcomes[i] = refused(l.spec, d, b.refused[i])
			continue
		case each != nil:
			b.outcomes[i] = each[at]
		default:
			b.outcomes[i] = all
		}
		at++
	}
	return b.outcomes
}

// unfinished is the outcomes of a batch whose handler ended its goroutine: what it had set stands, what it did not see is
// refused as ever, and o is that of the rest.
func (l *lane) unfinished(batch []*driver.Delivery, o Outcome) []Outcome {
	b := l.bulk
	each := make([]Outcome, len(b.calling))
	for i := range each {
		each[i] = o
		if i < len(b.state.setAt) && b.state.isSet(i) {
			each[i] = b.state.outcomes[i]
		}
	}
	if b.some {
		return l.withRefused(batch, each, o)
	}
	return each
}

// callBatch calls the handler for the messages that may reach it.
func (l *lane) callBatch(ds []*driver.Delivery) (each []Outcome, all Outcome) {
	if len(ds) == 0 {
		return nil, Outcome{}
	}
	b := l.bulk
	b.calling = ds
	each, all = b.run(l.ctx, ds, b)
	l.ctx.end(ErrReturned)
	return each, all
}

// settleBatch decides every message of a batch. The copies of one batch reach their mover together.
func (l *lane) settleBatch(batch []*driver.Delivery, each []Outcome, all Outcome) {
	w := l.w
	if each == nil && all.kind == KindAck && !w.r.listening() {
		w.handOverDone(l, batch)
		return
	}
	outcomeOf := func(i int) Outcome {
		if each == nil {
			return all
		}
		return each[i]
	}
	if w.r.listening() {
		for i, d := range batch {
			l.tell(d, outcomeOf(i))
		}
	}
	settlements, moves := l.bulk.settlements[:0], l.bulk.moves[:0]
	for i, d := range batch {
		if s, m := w.decide(l, d, outcomeOf(i)); m != nil {
			moves = append(moves, m)
		} else {
			settlements = append(settlements, s)
		}
	}
	w.handOver(l, settlements, moves)
	clear(moves)
	clear(settlements)
	l.bulk.settlements, l.bulk.moves = settlements, moves
}
