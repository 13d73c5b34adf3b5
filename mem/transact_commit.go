package mem

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// errGone is a queue that ended while nobody had its lock; where records go now is looked up again.
var errGone = errors.New("queue gone")

// Commit does all or nothing.
func (t *tx) Commit(ctx context.Context, done []driver.Settlement) error {
	if !t.running() {
		return notSent(errTxOver)
	}
	lost, err := t.commit(ctx, done)
	ended := t.end()
	if err != nil {
		if ended {
			t.giveBack()
		}
		err = notSent(err)
	} else if lost != nil {
		err = lost(ctx)
	}
	t.done()
	return err
}

// commit waits for the broker and for room, and commits. It returns what is still to be waited for where a fault wants that.
func (t *tx) commit(ctx context.Context, done []driver.Settlement) (lost func(context.Context) error, err error) {
	x := t.x
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !x.r.b.calm.Load() {
		if err := x.r.settleSlowly(ctx, done); err != nil {
			return nil, err
		}
	}
	c := committing{t: t, done: done, until: x.r.b.endOf(ctx), queues: x.queues, needs: x.needs}
	defer c.leave()
	for {
		if !x.r.b.calm.Load() {
			if err := x.as.reach(ctx); err != nil {
				return nil, err
			}
		}
		w, err := c.try()
		if errors.Is(err, errGone) {
			continue
		}
		if err != nil || w == nil {
			return c.after, err
		}
		if err = w.wait(ctx); err == nil {
			c.claim = w
		} else if !errors.Is(err, errWiped) {
			return nil, err
		}
	}
}

// committing is a commit on its way.
type committing struct {
	t      *tx
	done   []driver.Settlement
	queues []*queue // locked, in the order of their ids
	needs  []need
	claim  *blocked // who was let in, until the locks are taken
	mine   *queue   // where room was set aside, under the locks
	after  func(context.Context) error
	until  time.Duration // when the commit gives up waiting
}

// A need is what a commit puts into one queue.
type need struct {
	q     *queue
	role  driver.Role
	most  bound
	ready load
	held  load
}

// try commits, or returns where to wait for room.
func (c *committing) try() (*blocked, error) {
	if err := c.find(); err != nil {
		return nil, err
	}
	c.lock()
	defer c.unlock()
	if err := c.check(); err != nil {
		return nil, err
	}
	full, err := c.full()
	if err != nil {
		return nil, err
	}
	if full != nil {
		c.t.keepLeases(c.until)
		w := full.q.block(c.t.x.as, full.ready.bytes)
		w.count = full.ready.messages
		return w, nil
	}
	if err := c.faults(); err != nil {
		return nil, err
	}
	c.apply()
	return nil, nil //nolint:nilnil // It is done.
}

// find looks up all queues that the transaction concerns.
func (c *committing) find() error {
	c.queues, c.needs = c.queues[:0], c.needs[:0]
	for i := range c.t.out {
		o := &c.t.out[i]
		queues, err := o.to.s.queues()
		if err != nil {
			return err
		}
		for _, q := range queues {
			c.want(q, o)
		}
	}
	for _, n := range c.needs {
		c.queues = append(c.queues, n.q)
	}
	for _, d := range c.t.in {
		if q := c.t.x.r.name(d).q; q != nil && !slices.Contains(c.queues, q) {
			c.queues = append(c.queues, q)
		}
	}
	slices.SortFunc(c.queues, func(a, b *queue) int { return cmp.Compare(a.id, b.id) })
	return nil
}

func (c *committing) want(q *queue, o *outgoing) {
	i := slices.IndexFunc(c.needs, func(n need) bool { return n.q == q })
	if i < 0 {
		i = len(c.needs)
		c.needs = append(c.needs, need{q: q, role: o.to.s.target.Topic.Role, most: o.to.s.most})
	}
	if c.t.waits(&o.rec) {
		c.needs[i].held.add(o.rec.Size())
	} else {
		c.needs[i].ready.add(o.rec.Size())
	}
}

func (c *committing) lock() {
	for _, q := range c.queues {
		q.mu.Lock()
	}
	if w := c.claim; w != nil && slices.Contains(c.queues, w.q) {
		w.q.claim(w)
		c.claim, c.mine = nil, w.q
	}
}

func (c *committing) unlock() {
	if c.mine != nil {
		c.mine.admit()
		c.mine = nil
	}
	for _, q := range c.queues {
		if q.missed != nil {
			q.trim()
		}
		q.unlock()
	}
}

// leave gives back room that was set aside and not taken.
func (c *committing) leave() {
	x := c.t.x
	clear(c.queues)
	clear(c.needs)
	x.queues, x.needs = c.queues[:0], c.needs[:0]
	if w := c.claim; w != nil {
		w.q.mu.Lock()
		w.q.claim(w)
		w.q.admit()
		w.q.mu.Unlock()
	}
}

// check says why the commit must not be.
func (c *committing) check() error {
	r := c.t.x.r
	select {
	case <-r.done:
		return r.over()
	default:
	}
	now := r.leaseNow()
	for i := range c.done {
		d := c.done[i].Delivery
		if !slices.Contains(c.t.in, d) {
			return errForeign
		}
		if _, err := r.name(d).find(r, d, now); err != nil {
			return err
		}
	}
	if r.b.calm.Load() {
		return nil
	}
	return r.b.faults.away()
}

// full returns the first queue without room.
func (c *committing) full() (*need, error) {
	for i := range c.needs {
		n := &c.needs[i]
		q := n.q
		if q.over != nil {
			return nil, errGone
		}
		if n.held.messages > 0 && !q.holdsAll(n.held.messages, n.held.bytes) {
			return nil, errFull
		}
		behind := q.room.first != nil && n.role == driver.Main && q != c.mine
		switch fits := q.fitsAll(n.ready.messages, n.ready.bytes, n.most, n.role == driver.Main); {
		case n.ready.messages == 0, fits && !behind, q.missed != nil: // a reader holds up nobody
		case n.role != driver.Main:
			return nil, errFull
		default:
			return n, nil
		}
	}
	return nil, nil //nolint:nilnil // There is room everywhere.
}

// faults is what is switched on for the settlements and the records. A cut before the write has nothing done; one after it
// has all done, and is told as not confirmed.
func (c *committing) faults() error {
	x := c.t.x
	f := &x.r.b.faults
	c.after = nil
	if x.r.b.calm.Load() {
		return nil
	}
	for i := range c.done {
		if f.happens(c.done[i].Delivery.Topic, func(t *topicFaults) bool { return t.failSettle.next() }) {
			return errSettleFailed
		}
	}
	for i := range c.t.out {
		topic := c.t.out[i].to.s.target.Topic.Name
		if f.happens(topic, func(t *topicFaults) bool { return t.cutBefore.next() }) {
			return errCutBefore
		}
	}
	for i := range c.t.out {
		s := c.t.out[i].to.s
		switch topic := s.target.Topic.Name; {
		case f.happens(topic, func(t *topicFaults) bool { return t.cutAfter.next() }):
			c.after = func(context.Context) error { return errCutAfter }
			return nil
		case f.happens(topic, func(t *topicFaults) bool { return t.withheld }):
			c.after = func(ctx context.Context) error { return s.confirm(ctx) }
		}
	}
	return nil
}

// apply cannot fail, and nobody sees a part of it: the caller holds all locks.
func (c *committing) apply() {
	b := c.t.x.r.b
	now := b.now()
	for i := range c.t.out {
		o := &c.t.out[i]
		if o.to.repeats(&o.rec, now) {
			continue
		}
		at := time.Duration(0)
		if c.t.waits(&o.rec) {
			at = b.dueAt(&o.rec)
		}
		if !b.calm.Load() {
			b.faults.happens(o.to.s.target.Topic.Name, func(t *topicFaults) bool {
				if t.delay > 0 {
					at = max(at, now) + t.delay
				}
				return t.delay > 0
			})
		}
		size := o.rec.Size()
		for _, q := range o.to.s.route.Load().all() {
			if !slices.Contains(c.queues, q) {
				continue // a group that came since: it begins with what comes after it
			}
			e := q.spare(size)
			e.fill(&o.rec, size)
			if at > now {
				e.delayed = true
				q.hold(e, at)
			} else {
				q.push(e)
			}
		}
	}
	for i := range c.done {
		c.t.x.settle(&c.done[i])
	}
	for _, d := range c.t.in {
		c.t.x.takeBack(d)
	}
}

// repeats reports whether the broker drops the record as a repetition, and notes it where it does not.
func (to *txTarget) repeats(r *driver.Record, now time.Duration) bool {
	keep := to.s.b.cfg.Weak.Dedup
	if keep == 0 || r.Unique || r.ID.IsZero() {
		return false
	}
	return to.s.route.Load().topic.dedup.meet(r.ID, now, keep)
}

// settle settles what is still in hand. The caller holds the lock of its queue.
func (x *txReceiver) settle(s *driver.Settlement) {
	n := x.r.name(s.Delivery)
	if n.q == nil {
		return
	}
	if e, err := n.find(x.r, s.Delivery, 0); err == nil {
		n.q.settle(e, s)
		n.forget()
	}
}

// takeBack releases what is still in hand and was not settled. A handler may read it still, and who revokes it or looks for
// what is stuck: its entry is theirs from now on, and another takes its place. The caller holds the lock of its queue.
func (x *txReceiver) takeBack(d *driver.Delivery) {
	n := x.r.name(d)
	if n.q == nil {
		return
	}
	e, err := n.find(x.r, d, 0)
	if err != nil {
		return
	}
	n.forget()
	if !n.q.b.cfg.Weak.CountReleases {
		e.count--
	}
	n.q.requeue(e.lose())
}

// keepLeases keeps what is in hand until a moment, while its commit waits for room. The caller holds the locks.
func (t *tx) keepLeases(until time.Duration) {
	if t.x.r.b.cfg.Lease == 0 {
		return
	}
	for _, d := range t.in {
		if e, err := t.x.r.name(d).find(t.x.r, d, 0); err == nil {
			e.end = max(e.end, until)
		}
	}
}

// endOf is when a context ends by itself, or the end of time.
func (b *Broker) endOf(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return math.MaxInt64
	}
	return b.now() + time.Until(end)
}

// giveBack releases all that is still in hand.
func (t *tx) giveBack() {
	for _, d := range t.in {
		q := t.x.r.name(d).q
		if q == nil {
			continue
		}
		q.mu.Lock()
		t.x.takeBack(d)
		q.unlock()
	}
}

// fitsAll reports whether so much may become ready within the bound. An empty queue takes any record, and where senders wait
// for room any transaction, or one that is larger than the bound would wait for ever.
func (q *queue) fitsAll(n, size int, most bound, waits bool) bool {
	have := q.ready.n + q.beside
	return have == 0 && (waits || n == 1) || have+n <= most.messages && q.bytes+q.room.grantedBytes+size <= most.bytes
}

// holdsAll is holds for several records.
func (q *queue) holdsAll(n, size int) bool {
	if q.missed != nil {
		return q.holdsForReader(size)
	}
	most := q.b.cfg.bound(driver.Main)
	have := q.delay.messages + max(0, q.waits()-most.messages)
	bytes := q.delay.bytes + max(0, q.bytes-most.bytes)
	return have == 0 && n == 1 || have+n <= most.messages && bytes+size <= most.bytes
}

// onTxSend decides whether a record is refused when it is sent in a transaction.
func (f *Faults) onTxSend(topic string, size int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var refusal error
	switch {
	case f.any(topic, func(t *topicFaults) bool { return t.reject > 0 && size > t.reject }):
		return errTooLarge
	case f.any(topic, func(t *topicFaults) bool { refusal = t.refusal; return t.refuse.next() }):
		return notSent(refusal)
	default:
		return nil
	}
}
