package mem

import (
	"context"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// lease takes back what is in hand for too long. It is guarded by the queue's mutex.
type lease struct {
	timer *time.Timer
	armed bool
	at    time.Duration // for when it is armed
}

// leased is a receiver whose deliveries end unless extended.
type leased struct{ *receiver }

// Extend renews leases.
func (l leased) Extend(_ context.Context, batch []*driver.Delivery) error {
	var f failures
	now := l.leaseNow()
	for i, d := range batch {
		if err := l.extend(d, now); err != nil {
			f.add(len(batch), i, err)
		}
	}
	return f.err(len(batch))
}

func (l leased) extend(d *driver.Delivery, now time.Duration) error {
	n := l.name(d)
	if n.q == nil {
		return errForeign
	}
	n.q.mu.Lock()
	defer n.q.unlock()
	e, err := n.find(l.receiver, d, now)
	switch {
	case err != nil:
		return err
	case l.b.faults.away() != nil:
		return errAway
	default:
		e.end = now + l.b.cfg.Lease
		return nil
	}
}

// lease begins the leases of the last n entries that a member took.
func (m *member) lease(n int) {
	q := m.q
	life := q.b.cfg.Lease
	if life == 0 {
		return
	}
	end := q.b.now() + life
	for _, e := range m.hand[len(m.hand)-n:] {
		e.end = end
	}
	q.armLease(end, end-life)
}

// armLease sets the timer for a lease that ends then, unless it is set for one that can end before. It may be set for a later
// one, that of a commit that waits.
func (q *queue) armLease(end, now time.Duration) {
	l := &q.lease
	if l.armed && l.at <= end {
		return
	}
	l.armed, l.at = true, end
	l.timer = setTimer(l.timer, end-now, q.expireAll)
}

// expireAll takes back what was in hand too long, and sets the timer for the next that can be.
func (q *queue) expireAll() {
	q.mu.Lock()
	defer q.unlock()
	q.lease.armed = false
	if q.over != nil {
		return
	}
	now := q.b.now()
	var next time.Duration
	for _, m := range q.members {
		if first := m.expireLate(now); first != 0 && (next == 0 || first < next) {
			next = first
		}
	}
	if next != 0 {
		q.armLease(next, now)
	}
}

// expireLate takes back what the member had too long, and returns when the next of its leases ends, or 0.
func (m *member) expireLate(now time.Duration) time.Duration {
	var next time.Duration
	var ended []*entry
	for i, e := range m.hand {
		switch {
		case !m.holds(i):
		case e.end <= now:
			ended = append(ended, e)
		case next == 0 || e.end < next:
			next = e.end
		}
	}
	for _, e := range ended {
		e.expire()
	}
	return next
}

// expire ends the lease of one entry. Its record becomes ready again.
func (e *entry) expire() {
	delete(e.owner.tags.hand, e.delivery.Token.A) // where tokens are numbers: nobody can settle it by that one any more
	e.q.requeue(e.lose())
}

// lapse is expire for an entry that is found before the timer takes it back. Where receivers own keys all that the owner had
// too long goes with it, since what is earlier of its key would come after it.
func (e *entry) lapse(now time.Duration) {
	if e.q.strands == nil {
		e.expire()
	} else {
		e.owner.expireLate(now)
	}
}

func (l *lease) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
}
