package wherry

import "time"

const (
	// wakeTime is about how long it takes until a lane that was woken handles something: where its processor sleeps,
	// tens of microseconds to a hundred.
	wakeTime = 50 * time.Microsecond
	// provenQuick is after how many messages in a row handlers count as quick.
	provenQuick = 1024
)

// A pace says whether waking another lane helps. One lane that handles all that a Receive brought within the time that
// waking takes is only slowed down by others: they come too late, and then take the lock and the caches from it. So while
// handlers are that quick no lane is woken. Should one then not be, the linger's timer notices that nothing moves, and the
// lanes are woken as ever: what waits behind the first slow message waits for two lingers at most. The zero pace is slow.
//
// It is guarded by the worker's lock.
type pace struct {
	began time.Time // when the last Receive returned
	count int       // how much it brought, 0 once that was measured
	quick int       // messages in a row, up to provenQuick
	seen  uint64    // worker.handled when the linger's timer was set
}

// begin notes that n messages came.
func (p *pace) begin(n int) { p.began, p.count = time.Now(), n }

// end notes that a lane comes for more than came.
func (p *pace) end() {
	switch {
	case p.count == 0:
		return
	case time.Since(p.began) > wakeTime:
		p.quick = 0
	default:
		p.quick = min(p.quick+p.count, provenQuick)
	}
	p.count = 0
}

func (p *pace) isQuick() bool { return p.quick == provenQuick }

// wakeNextLocked wakes one more lane, if it could do something and would come in time.
func (w *worker) wakeNextLocked() {
	if len(w.idle) == 0 {
		return
	}
	if !w.pace.isQuick() {
		w.wakeLocked()
	} else if !w.lingering {
		w.armLingerLocked()
	}
}

// unstickLocked is called once per linger. It wakes a lane when none was woken because handlers are quick, and the one in
// which a lane is now is not.
func (w *worker) unstickLocked() {
	if !w.pace.isQuick() || len(w.idle) == 0 || w.head == len(w.buf) && w.receiving {
		return
	}
	if w.handled == w.pace.seen {
		w.pace.quick = 0
		w.wakeLocked()
		return
	}
	w.armLingerLocked()
}
