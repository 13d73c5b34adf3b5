package mem

import (
	"context"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// delays keeps a queue's entries that are not due. It is guarded by the queue's mutex.
type delays struct {
	heap  dueHeap
	order uint64 // of the last entry, so that ties keep their order
	timer *time.Timer
	armed time.Duration // when the timer fires; 0 is not at all
	// messages and bytes count what was sent with a due time. What was released with a delay is never refused, so it
	// is not counted.
	messages int
	bytes    int
}

// hold keeps an entry until at. The caller holds the lock.
func (q *queue) hold(e *entry, at time.Duration) {
	d := &q.delay
	if q.strands != nil && !e.delayed {
		q.strands.hold(e)
	}
	d.order++
	e.state = held
	if e.delayed {
		d.messages++
		d.bytes += e.size
	}
	d.heap.push(due{at: at, order: d.order, e: e})
	q.armDelay()
}

// armDelay sets the timer for the first entry that is due.
func (q *queue) armDelay() {
	d := &q.delay
	if len(d.heap) == 0 {
		return
	}
	first := d.heap[0].at
	if d.armed != 0 && d.armed <= first {
		return
	}
	d.armed = first
	wait := first - q.b.now()
	d.timer = setTimer(d.timer, wait, q.due)
}

// due makes ready what is due. It does not look at the bound, since a timer cannot wait.
func (q *queue) due() {
	q.mu.Lock()
	if q.over != nil {
		q.mu.Unlock()
		return
	}
	d := &q.delay
	d.armed = 0
	for now := q.b.now(); len(d.heap) > 0 && d.heap[0].at <= now; {
		q.ripen(d.heap.pop())
	}
	q.armDelay()
	if q.missed != nil {
		q.trim()
	}
	q.unlock()
}

// ripen moves an entry that left the heap to where it is taken from: a new one behind the others, a released one to its
// place.
func (q *queue) ripen(e *entry) {
	if !e.delayed {
		q.requeue(e)
		return
	}
	q.unhold(e)
	q.push(e)
}

// unhold uncounts an entry that left the heap.
func (q *queue) unhold(e *entry) {
	if e.delayed {
		q.delay.messages--
		q.delay.bytes -= e.size
		e.delayed = false
	}
}

// cancelHold takes an entry out of the heap.
func (q *queue) cancelHold(e *entry) {
	if i := q.delay.heap.index(e); i >= 0 {
		q.delay.heap.remove(i)
		q.unhold(e)
		if q.strands != nil {
			q.strands.unhold(e)
		}
	}
}

// holds reports whether one more record of this size may wait for its due time. What is ready above the bound came from
// here and still counts.
func (q *queue) holds(size int) bool {
	if q.missed != nil {
		return q.holdsForReader(size)
	}
	most := q.b.cfg.bound(driver.Main)
	n := q.delay.messages + max(0, q.waits()-most.messages)
	bytes := q.delay.bytes + max(0, q.bytes-most.bytes)
	return n == 0 || n < most.messages && bytes+size <= most.bytes
}

func (d *delays) end() {
	if d.timer != nil {
		d.timer.Stop()
	}
	*d = delays{}
}

// MaxHold returns 0: a record can wait for as long as the process lives.
func (s *sender) MaxHold() time.Duration { return 0 }

// SendAt never waits: what finds no place among the records that wait fails with [driver.ErrFull]. A record that is due
// already becomes ready at once, even in a full queue, and is refused by the same bound.
func (s *sender) SendAt(ctx context.Context, batch []driver.Record) error {
	if err := ctx.Err(); err != nil {
		return notSent(context.Cause(ctx))
	}
	if len(batch) == 0 {
		return nil
	}
	if !s.b.calm.Load() {
		return s.sendAtOdd(ctx, batch)
	}
	return s.putAt(batch, s.b.dueAt)
}

// putAt places a batch of which each record becomes ready when due says.
func (s *sender) putAt(batch []driver.Record, due func(*driver.Record) time.Duration) error {
	p := placing{s: s, batch: batch}
	defer p.end()
	for p.at < len(batch) {
		if err := p.lock(); err != nil {
			p.failRest(err)
			break
		}
		p.fillAt(due)
		p.unlock()
	}
	return p.failed.err(len(batch))
}

// fillAt is fill for records that wait for their due time.
func (p *placing) fillAt(due func(*driver.Record) time.Duration) {
	now := p.s.b.now()
	for ; p.at < len(p.batch); p.at++ {
		r := &p.batch[p.at]
		size := r.Size()
		if err := p.refuse(r, size); err != nil {
			p.fail(err)
			continue
		}
		if size > inlineCopy && !p.copied() {
			return
		}
		room := true
		for _, q := range p.queues {
			if q.over != nil {
				return
			}
			room = room && q.holds(size)
		}
		if !room {
			p.fail(errFull)
			continue
		}
		at := due(r)
		for i, q := range p.queues {
			e := p.copy(i, q, r, size)
			if at > now {
				e.delayed = true
				q.hold(e, at)
			} else {
				q.push(e)
			}
		}
		p.used()
	}
}
