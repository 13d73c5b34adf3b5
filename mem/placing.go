package mem

import (
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// A placing puts the records of one Send into the queues of its target.
type placing struct {
	s      *sender
	batch  []driver.Record
	at     int      // the next record
	queues []*queue // locked between lock and unlock
	claim  *blocked // who was let in for the next record, until the lock is taken
	mine   *queue   // where room was set aside for the next record, under the lock
	copies []large  // of record of, copied before the lock was taken because it is large
	of     int
	failed failures
}

// large is an entry that was filled for a queue.
type large struct {
	q *queue
	e *entry
}

// lock finds the target's queues, copies the next record if it is large, and locks.
func (p *placing) lock() error {
	if p.s.closed.Load() {
		return notSent(p.s.over())
	}
	queues, err := p.s.queues()
	if err != nil {
		return err
	}
	p.queues = queues
	if r := &p.batch[p.at]; r.Size() > inlineCopy && r.Size() <= p.s.b.cfg.MaxRecord && !p.copied() {
		p.copyFor(r)
	}
	for _, q := range p.queues {
		q.mu.Lock()
	}
	if w := p.claim; w != nil && slices.Contains(p.queues, w.q) {
		w.q.claim(w)
		p.mine = w.q
	}
	p.claim = nil
	return nil
}

// copyFor copies a large record for each queue.
func (p *placing) copyFor(r *driver.Record) {
	p.drop()
	p.of = p.at
	size := r.Size()
	for _, q := range p.queues {
		q.mu.Lock()
		if p.copies == nil {
			p.copies, q.scratch = q.scratch, nil
		}
		e := q.spare(size)
		q.mu.Unlock()
		e.fill(r, size)
		p.copies = append(p.copies, large{q, e})
	}
}

// used keeps the list of copies, which went into the queues, for the next sender.
func (p *placing) used() {
	if len(p.queues) > 0 && p.copied() {
		clear(p.copies)
		p.queues[0].scratch, p.copies = p.copies[:0], nil
	}
}

// copied reports whether there are copies of the next record for exactly the present queues.
func (p *placing) copied() bool {
	return len(p.queues) == 0 || len(p.copies) > 0 && p.of == p.at && slices.EqualFunc(p.copies, p.queues, func(c large, q *queue) bool { return c.q == q })
}

// fill places what it can under the lock. It returns where to wait when a queue is full.
func (p *placing) fill() *blocked {
	for ; p.at < len(p.batch); p.at++ {
		r := &p.batch[p.at]
		size := r.Size()
		if err := p.refuse(r, size); err != nil {
			p.fail(err)
			continue
		}
		if size > inlineCopy && !p.copied() {
			return nil
		}
		full, err := p.full(size)
		switch {
		case err != nil:
			return nil // the queues are gone; they are looked up again
		case full != nil && p.s.target.Topic.Role != driver.Main:
			p.fail(errFull)
			continue
		case p.s.closed.Load():
			// Seen under the lock, since Close sets it before it looks for who waits.
			p.fail(notSent(p.s.over()))
			continue
		case full != nil:
			w := full.block(p.s, size)
			p.leave()
			return w
		}
		for i, q := range p.queues {
			e := p.copy(i, q, r, size)
			q.push(e)
		}
		p.mine = nil
		p.used()
	}
	return nil
}

// copy returns the entry of the next record for queue i.
func (p *placing) copy(i int, q *queue, r *driver.Record, size int) *entry {
	if size > inlineCopy {
		return p.copies[i].e
	}
	e := q.spare(size)
	e.fill(r, size)
	return e
}

// refuse says why the next record cannot be sent at all.
func (p *placing) refuse(r *driver.Record, size int) error {
	if size > p.s.b.cfg.MaxRecord {
		return errTooLarge
	}
	return p.failed.earlier(p.batch[:p.at], r)
}

// full returns the first queue without room for the next record.
func (p *placing) full(size int) (*queue, error) {
	for _, q := range p.queues {
		if q.over != nil {
			return nil, q.over
		}
		waits := q.room.first != nil && p.s.target.Topic.Role == driver.Main
		if q != p.mine && waits || !q.fits(size, p.s.most) {
			if q.missed != nil { // a reader holds up nobody
				q.trim()
				continue
			}
			return q, nil
		}
	}
	return nil, nil
}

// leave gives the room that was set aside and is not taken to the next in line.
func (p *placing) leave() {
	if p.mine != nil {
		p.mine.admit()
		p.mine = nil
	}
}

func (p *placing) unlock() {
	p.leave()
	for _, q := range p.queues {
		if q.missed != nil {
			q.trim()
		}
		q.unlock()
	}
}

// end gives back what was not used.
func (p *placing) end() {
	p.drop()
	if w := p.claim; w != nil {
		w.q.mu.Lock()
		w.q.claim(w)
		w.q.admit()
		w.q.mu.Unlock()
	}
}

// drop gives back copies that were not used.
func (p *placing) drop() {
	for _, c := range p.copies {
		c.q.mu.Lock()
		c.q.recycle(c.e)
		c.q.mu.Unlock()
	}
	p.copies = p.copies[:0]
}

func (p *placing) fail(err error) { p.failed.add(len(p.batch), p.at, err) }

func (p *placing) failRest(err error) {
	for ; p.at < len(p.batch); p.at++ {
		p.fail(err)
	}
}
