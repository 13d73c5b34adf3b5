package wherry

import (
	"sync"
	"time"
)

// quarantineTime is how long a suspect is handled alone at the most: what has not killed its process by then is taken for
// slow, and holds up nobody.
const quarantineTime = 5 * time.Second

// A quarantine lets one suspect at a time be with a handler in all consumers of a fleet, since they die together. While a
// consumer has one, or waits to have one, its workers receive nothing.
type quarantine struct {
	mu     sync.Mutex // guards the fields below
	owner  *worker    // nil: nobody has a suspect
	until  time.Time
	timer  *time.Timer
	closed map[*running]struct{}
}

// enter asks for a worker's suspect to be handled, and reports whether it may be.
func (q *quarantine) enter(w *worker) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed == nil {
		q.closed = make(map[*running]struct{})
	}
	q.closed[w.r] = struct{}{}
	w.r.closed.Store(true)
	if q.owner != nil && q.owner != w {
		return false
	}
	q.owner = w
	q.endIn(quarantineTime)
	return true
}

// leave tells that the worker's suspect killed nobody.
func (q *quarantine) leave(w *worker) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.owner == w {
		q.owner = nil
		q.endIn(0)
	}
}

// endIn sets the end. The end itself is the timer's, which has no lock of a worker.
func (q *quarantine) endIn(d time.Duration) {
	q.until = time.Now().Add(d)
	if q.timer == nil {
		q.timer = time.AfterFunc(d, q.lift)
	} else {
		q.timer.Reset(d)
	}
}

// lift lets the consumers receive again.
func (q *quarantine) lift() {
	q.mu.Lock()
	if time.Now().Before(q.until) {
		q.mu.Unlock()
		return // another has entered meanwhile
	}
	q.owner = nil
	closed := q.closed
	q.closed = nil
	for r := range closed {
		r.closed.Store(false)
	}
	q.mu.Unlock()
	for r := range closed {
		for _, w := range r.crew.now() {
			w.mu.Lock()
			w.wakeLocked()
			w.mu.Unlock()
		}
	}
}
