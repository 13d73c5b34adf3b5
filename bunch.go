package wherry

import (
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	// bunchSize is the most deliveries that a lane takes at once.
	bunchSize = 64
	// recalled marks a bunch that was taken back: whatever is added to it is beyond its end.
	recalled = 1 << 63
)

// A bunch is what a lane took of the buffer at once, under one lock. The lane begins one after another by an atomic addition.
// Whoever else looks at lanes or at the buffer takes back first what the lane has not begun, by recallLocked: then all is as
// if it had taken one. It is little, so that nothing waits in it: where one lane does all, as the pace says, much of what was
// received, else a share that takes no longer than to wake another lane. Of that a lane that finds nothing else takes back what
// is left. While there is a bunch nobody receives: what is put back into the buffer must find it as it was, and somebody to take
// it.
//
// The lane goes on in its bunch as long as nothing happens but acknowledgements within one reading of the clock and with one
// context, and comes to the lock for everything else.
type bunch struct {
	of    [bunchSize]*driver.Delivery // written by the lane, under the lock, while there is no bunch
	keys  []*seqNode                  // those of the deliveries, where they stand behind keys
	begun atomic.Uint64               // how many, the one in hand included
	limit uint64                      // the lane's alone: how many it may begin, 0 where it has no bunch
	size  uint64                      // guarded by the worker's lock: how many there are, 0 once it was recalled
}

// following returns the lane's next delivery after one that was acknowledged, or nil at the end.
func (l *lane) following(done *driver.Delivery) *driver.Delivery {
	b := &l.bunch
	if b.limit != 0 && l.w.r.clock.now() == l.started && !l.ctx.touched.Load() {
		if i := b.begun.Add(1); i <= b.limit {
			return b.of[i-1]
		}
	}
	return l.w.advance(l, done)
}

// bunchLocked gives the lane, which has one delivery, more of the buffer, if it may have more.
func (w *worker) bunchLocked(l *lane) {
	b := &l.bunch
	rest := w.buf[w.head:]
	if len(rest) == 0 || w.linger > longestUnwoken || w.info.Lease > 0 {
		return
	}
	w.sampleLocked(l)
	n := min(w.pace.Share(len(rest), w.atOnce), bunchSize-1)
	if n == 0 {
		return
	}
	b.of[0] = l.current
	copy(b.of[1:], rest[:n])
	clear(rest[:n])
	w.head += n
	b.limit, b.size = uint64(n+1), uint64(n+1)
	b.begun.Store(1)
	w.bunched++
}

// recallLocked ends a lane's bunch. What it has acknowledged is noted as settled, and what it has not begun goes back into the
// buffer, to the front.
func (w *worker) recallLocked(l *lane) {
	b := &l.bunch
	if b.size == 0 {
		return
	}
	begun := min(b.begun.Or(recalled), b.size)
	w.out.done(b.of[:begun-1])
	w.handled += begun - 1
	l.current = b.of[begun-1]
	if w.seq != nil {
		w.seq.recallLocked(l, int(begun)) // before the size is 0
	} else if rest := b.of[begun:b.size]; len(rest) > 0 {
		w.putBackLocked(rest)
	}
	b.size = 0
	w.bunched--
}

// recall ends the lane's own bunch.
func (l *lane) recall() {
	if l.bunch.limit == 0 {
		return
	}
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.recallLocked(l)
}

// putBackLocked puts deliveries at the front of the buffer, where there is room if they were its last to be taken.
func (w *worker) putBackLocked(ds []*driver.Delivery) {
	if len(ds) <= w.head {
		w.head -= len(ds)
		copy(w.buf[w.head:], ds)
		return
	}
	all := make([]*driver.Delivery, 0, len(ds)+len(w.buf)-w.head)
	w.buf, w.head = append(append(all, ds...), w.buf[w.head:]...), 0
}

// recallAllLocked ends the bunches of all lanes, for whoever looks at what they have.
func (w *worker) recallAllLocked() {
	for _, l := range w.lanes {
		w.recallLocked(l)
	}
}

// leastSampled is the fewest deliveries of one Receive of which a lane's are timed.
const leastSampled = 16

// A sample is how long one lane takes for what it has. One is taken of each Receive, unless that brought next to nothing. It is
// the lane's alone, and ends before the lane comes to the lock, for which it may wait.
type sample struct {
	taken bool
	since time.Time
	took  time.Duration
}

// sampleLocked begins a sample of what the lane is about to handle, if one is due.
func (w *worker) sampleLocked(l *lane) {
	if w.sampleDue {
		w.sampleDue = false
		l.sample.taken, l.sample.since = true, time.Now()
	}
}

// end is called when the lane is done.
func (s *sample) end() {
	if s.taken {
		s.took = time.Since(s.since)
	}
}

// sampledLocked tells the pace how long the lane took for what it had last, before anything changes that. Of a bunch that was
// taken back nobody knows any more how much of it the lane did.
func (w *worker) sampledLocked(l *lane) {
	l.sample.taken = false
	n := uint64(1)
	if b := &l.bunch; b.limit != 0 {
		n = min(b.begun.Load(), b.size)
	}
	if n > 0 {
		w.pace.Each(l.sample.took, int(n))
	}
}
