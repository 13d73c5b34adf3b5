package wherry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A move is a copy on its way to another place, and the original that is done once the copy is confirmed.
type move struct {
	d    *driver.Delivery
	rec  driver.Record
	out  *outlet
	over bool // made, or given back; its mover alone reads it

	// The mover's lock guards these: sending while a try is on its way, maySent once one may have arrived, and lost when the original
	// became another's.
	sending, maySent, lost bool

	event Event    // emitted once the copy is confirmed; nil is none
	key   *seqNode // which goes on once it is over; nil where there are no keys
}

// A mover makes the moves of one worker to one outlet: the confirmed copy first, then the original's settlement. What the
// outlet refuses is kept and tried again with growing pauses, beside the lanes, so that other messages go on. Each worker
// has two, for retries and for dead letters, from the first message that needs one.
type mover struct {
	w    *worker
	out  *outlet
	wake chan struct{} // cap 1
	stop chan struct{} // closed by finish
	gone chan struct{} // closed at the end
	once sync.Once

	mu    sync.Mutex // guards the fields below
	queue []*move    // not yet tried
	kept  []*move    // not yet made, tried or not
	stuck error      // why the last try failed; nil when it did not
}

// handOver gives what the lane has decided to the movers and to the broker, and takes it out of the lane's hands in the same
// step: whoever counts the deliveries of a tenure finds each of them once. An abandoned handler comes too late for that.
func (w *worker) handOver(l *lane, settlements []driver.Settlement, moves []*move) {
	w.mu.Lock()
	if w.late || w.done {
		w.mu.Unlock()
		w.tellTooLate(len(settlements) + len(moves))
		return
	}
	w.recallLocked(l) // what it acknowledged before counts now, and this one once
	w.moveLocked(moves)
	for _, s := range settlements {
		w.settleLocked(s)
	}
	w.finishLocked(l)
	w.mu.Unlock()
}

// handOverDone is handOver of a batch that is done.
func (w *worker) handOverDone(l *lane, batch []*driver.Delivery) {
	w.mu.Lock()
	if w.late || w.done {
		w.mu.Unlock()
		w.tellTooLate(len(batch))
		return
	}
	out := w.out.batch
	for _, d := range batch {
		out = append(out, driver.Settlement{Delivery: d, Verdict: driver.Done})
	}
	w.out.batch = out
	w.finishLocked(l)
	w.mu.Unlock()
}

// moveLocked hands moves to their movers, those of one mover together.
func (w *worker) moveLocked(ms []*move) {
	if w.tx != nil {
		w.tx.move(ms)
		for _, m := range ms {
			w.settleLocked(driver.Settlement{Delivery: m.d, Verdict: driver.Done})
		}
		return
	}
	for _, out := range [...]*outlet{w.r.retries, w.r.dead} {
		var own []*move
		for _, m := range ms {
			if m.out == out {
				own = append(own, m)
			}
		}
		if len(own) > 0 {
			w.moverLocked(out).add(own...)
		}
	}
}

// moverLocked is the mover to an outlet.
func (w *worker) moverLocked(out *outlet) *mover {
	i := 0
	if w.r.dead != nil && out == w.r.dead {
		i = 1
	}
	if w.movers[i] == nil {
		m := &mover{
			w: w, out: out, wake: make(chan struct{}, 1), stop: make(chan struct{}), gone: make(chan struct{}),
		}
		w.movers[i] = m
		go m.run()
	}
	return w.movers[i]
}

func (w *worker) moversNow() []*mover {
	w.mu.Lock()
	defer w.mu.Unlock()
	var ms []*mover
	for _, m := range w.movers {
		if m != nil {
			ms = append(ms, m)
		}
	}
	return ms
}

func (m *mover) add(more ...*move) {
	m.mu.Lock()
	m.queue = append(m.queue, more...)
	m.kept = append(m.kept, more...)
	m.mu.Unlock()
	m.poke()
}

func (m *mover) poke() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// run moves until finish, and once more then. What was refused waits for its pause; what comes meanwhile is tried at once.
func (m *mover) run() {
	defer close(m.gone)
	failures := 0 // in a row, of what is late
	pause := moveBackoff.after(1)
	var late []*move
	var again <-chan time.Time
	for {
		select {
		case <-m.wake:
			late = append(late, m.try(m.take(), pause)...)
		case <-again:
			failures++
			pause = moveBackoff.after(failures + 1)
			late, again = m.try(late, pause), nil
		case <-m.stop:
			m.try(append(late, m.take()...), 0)
			return
		}
		switch {
		case len(late) == 0:
			failures, again = 0, nil
			pause = moveBackoff.after(1)
		case again == nil:
			again = time.After(pause)
		}
	}
}

func (m *mover) take() []*move {
	m.mu.Lock()
	defer m.mu.Unlock()
	batch := m.queue
	m.queue = nil
	return batch
}

// try sends the copies in as few calls as the outlet takes, settles the originals of those that were confirmed, and
// returns the others, without those that were lost meanwhile.
func (m *mover) try(batch []*move, next time.Duration) (late []*move) {
	for len(batch) > 0 {
		n := fit(m.out.limits, publishChunk, len(batch), func(i int) int { return batch[i].rec.Size() })
		late = append(late, m.tryCall(batch[:n], next)...)
		batch = batch[n:]
	}
	return late
}

// begin begins a try. It returns the batch without what was lost: the originals of that are another's, who makes copies of them.
func (m *mover) begin(batch []*move) []*move {
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.dropEndedLocked()
	m.mu.Lock()
	defer m.mu.Unlock()
	batch = slices.DeleteFunc(batch, func(one *move) bool { return one.lost })
	for _, one := range batch {
		one.sending = true
	}
	return batch
}

func (m *mover) tryCall(batch []*move, next time.Duration) (late []*move) {
	if batch = m.begin(batch); len(batch) == 0 {
		return nil
	}
	recs := make([]driver.Record, len(batch))
	for i, one := range batch {
		recs[i] = one.rec
	}
	ctx, stop := context.WithTimeout(m.w.settleBase, settleTimeout)
	defer stop()
	err := m.out.sendOnce(ctx, recs)
	var done []driver.Settlement
	var keys []*seqNode
	var stuck error
	maySent := make([]bool, len(batch))
	for i, one := range batch {
		e := driver.EntryError(err, i)
		if e == nil {
			if one.event != nil {
				m.w.r.emit(one.event)
			}
			one.over = true
			done = append(done, driver.Settlement{Delivery: one.d, Verdict: driver.Done})
			if one.key != nil {
				keys = append(keys, one.key)
			}
			continue
		}
		stuck = fmt.Errorf("cannot publish to %s: %w", m.out.target.Topic.Name, e)
		maySent[i] = !errors.Is(e, ErrNotSent)
		late = append(late, one)
	}
	if stuck != nil && next > 0 {
		m.w.r.emit(&MoveBlocked{
			Origin: m.w.r.origin, ID: late[0].d.ID.String(), To: m.out.target.Topic.Name, Err: stuck, Next: next,
		})
		for len(late) > 0 && m.tooMany(len(done)) {
			// Rather than let refused copies use up the credit, the latest original goes back for a while. Its handler
			// will be asked again, as for the same attempt.
			last := late[len(late)-1]
			late = late[:len(late)-1]
			last.over = true
			done = append(done, driver.Settlement{Delivery: last.d, Delay: min(moveBackoff.longest, m.w.info.MaxDelay)})
		}
	}
	m.w.mu.Lock()
	defer m.w.mu.Unlock()
	m.endLocked(batch, maySent, stuck)
	m.movedLocked(done, keys)
	return late
}

// tooMany reports whether the worker's kept moves, less those that are over, use up more than half of the credit, on a
// broker that takes a message back for a while.
func (m *mover) tooMany(over int) bool {
	kept := -over
	for _, each := range m.w.moversNow() {
		n, _ := each.blocked()
		kept += n
	}
	return m.w.info.MaxDelay > 0 && m.w.seq == nil && kept > m.w.credit/2
}

// endLocked ends a try, of which the worker's lock makes one step with what becomes of the originals: whoever counts the
// deliveries of a tenure finds each of them.
func (m *mover) endLocked(batch []*move, maySent []bool, stuck error) {
	m.mu.Lock()
	for i, one := range batch {
		one.sending = false
		one.maySent = one.maySent || maySent[i]
	}
	m.kept = slices.DeleteFunc(m.kept, func(one *move) bool { return one.over })
	m.stuck = stuck
	m.mu.Unlock()
	m.dropEndedLocked()
}

// movedLocked settles the originals of moves that are over, and goes on with their keys.
func (m *mover) movedLocked(done []driver.Settlement, keys []*seqNode) {
	if len(done) == 0 {
		return
	}
	w := m.w
	for _, s := range done {
		w.settleLocked(s)
	}
	for _, n := range keys {
		w.seq.movedLocked(n)
	}
	if len(keys) > 0 {
		w.seq.rouseLocked()
	}
	w.flushLocked()
}

// blocked is how many moves are kept, and why the last try failed; nil when it did not.
func (m *mover) blocked() (kept int, why error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) == 0 {
		return 0, nil
	}
	return len(m.kept), m.stuck
}

// dropEndedLocked forgets moves of tenures that were lost, and returns how many. The worker's lock is held.
func (m *mover) dropEndedLocked() int {
	t := &m.w.tenures
	if !t.any() {
		return 0
	}
	return m.dropLocked(func(d *driver.Delivery) bool { return t.lost(d.Tenure) })
}

// dropLocked forgets moves whose originals were lost: another consumer has them, and makes copies of its own. A try that is on its
// way is waited for. What of a dropped one was to set its key aside does not if it certainly was not sent, and no more than that:
// others of the key may have come to the dead letters before. The worker's lock is held.
func (m *mover) dropLocked(lost func(d *driver.Delivery) bool) int {
	w := m.w
	var gone []*move
	m.mu.Lock()
	m.kept = slices.DeleteFunc(m.kept, func(one *move) bool {
		one.lost = one.lost || !one.sending && lost(one.d)
		if one.lost {
			gone = append(gone, one)
		}
		return one.lost
	})
	m.queue = slices.DeleteFunc(m.queue, func(one *move) bool { return one.lost })
	m.mu.Unlock()
	for _, one := range gone {
		w.leases.removeLocked(one.d)
		w.forgetLocked(1)
		w.tenures.settledLocked(one.d.Tenure)
		if one.key == nil {
			continue
		}
		if m.out == w.r.dead && !one.maySent && w.seq.setsAside(one.key) {
			w.r.aside.back(one.key.Key(), w.seq.asideID(one.d))
		}
		w.seq.movedLocked(one.key) // which may hand the mover the next of the key
	}
	if w.seq != nil && len(gone) > 0 {
		w.seq.rouseLocked()
	}
	return len(gone)
}

// countLocked is how many kept moves are of a tenure. The worker's lock is held.
func (m *mover) countLocked(tenure uint64) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, one := range m.kept {
		if one.d.Tenure == tenure {
			n++
		}
	}
	return n
}

// finish makes what moves it can and ends the mover. Copies that are refused even then leave their originals to the
// broker.
func (m *mover) finish() {
	m.once.Do(func() { close(m.stop) })
	<-m.gone
}
