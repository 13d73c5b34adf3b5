package wherry

import (
	"runtime"
	"time"

	"github.com/wherryhq/wherry/internal/pace"
)

// wakeLocked wakes one parked lane if there is something for it to do.
func (w *worker) wakeLocked() {
	if len(w.idle) == 0 || w.waking {
		return
	}
	if w.nothingLocked() && w.receiving {
		return
	}
	w.waking = true
	l := w.idle[len(w.idle)-1]
	w.idle = w.idle[:len(w.idle)-1]
	l.wake <- struct{}{}
}

// longestUnwoken is the longest linger that lanes may wait for a wake.
const longestUnwoken = 2 * time.Millisecond

// quickLocked reports whether one lane alone is to do what was received last, and the linger's timer looks often enough whether
// it does.
func (w *worker) quickLocked() bool { return w.linger <= longestUnwoken && w.pace.Quick() }

// wakeNextLocked wakes one more lane, if it could do something and would come in time. Where handlers are too quick for that
// the linger's timer notices the first that is not, and lanes are woken as ever: what waits behind it waits for two lingers
// at most.
func (w *worker) wakeNextLocked() {
	if len(w.idle) == 0 {
		return
	}
	if !w.quickLocked() {
		w.wakeLocked()
	} else if !w.lingering {
		w.armLingerLocked()
	}
}

// unstickLocked is called once per linger. It wakes a lane when none was woken because handlers are quick, and the one in
// which a lane is now is not, or for what another had taken with it.
func (w *worker) unstickLocked() {
	if len(w.idle) == 0 || w.nothingLocked() && w.receiving {
		return
	}
	if !w.quickLocked() {
		if !w.nothingLocked() {
			w.wakeLocked()
		}
		return
	}
	if w.handled != w.seen && !w.pace.Late() {
		w.armLingerLocked()
		return
	}
	w.pace.Slow()
	w.wakeLocked()
}

// mostYields is how often a lane lets others run before it parks, while another receives in process: some ten microseconds,
// which a Receive takes that finds something.
const mostYields = 64

// yieldsLocked is how often a lane lets others run while another receives. Where the last Receive brought all that there was
// room for there is more, and this one does not wait.
func (w *worker) yieldsLocked() int {
	if w.full {
		return pace.Patience
	}
	return mostYields
}

// yieldLocked lets others run. It gives up the lock meanwhile, and what is decided does not wait for its return: where others
// compute, that can take long.
func (w *worker) yieldLocked() {
	w.lingerLocked()
	w.mu.Unlock()
	runtime.Gosched()
	w.lock()
}

// lock takes the worker's lock, for lanes.
func (w *worker) lock() { pace.Lock(&w.mu) }

// parkLocked waits until the lane is woken. It gives up the lock meanwhile.
func (w *worker) parkLocked(l *lane) {
	if w.owingLocked() && !w.done {
		w.flushLocked() // and look again
		return
	}
	w.idle = append(w.idle, l)
	w.mu.Unlock()
	<-l.wake
	w.mu.Lock()
	w.waking = false
}

// leaveAloneLocked parks a lane beside one that is to do all, and reports whether it did: to take some of it would cost both more
// than it gains. The linger's timer finds out whether that one still is quick.
func (w *worker) leaveAloneLocked(l *lane) bool {
	if w.bunched == 0 || !w.quickLocked() {
		return false
	}
	if !w.lingering {
		w.armLingerLocked()
	}
	w.parkLocked(l)
	return true
}

// wakeAllLocked wakes every parked lane, at the end and after a pause.
func (w *worker) wakeAllLocked() {
	for _, l := range w.idle {
		l.wake <- struct{}{}
	}
	w.idle = w.idle[:0]
}
