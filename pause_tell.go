package wherry

import (
	"strings"
	"time"
)

// What is told of pauses is told by one goroutine at a time, and compared with what is so when the event functions have returned. So
// an event function may pause and resume its own consumer: what it did is told after it, not inside of it, and no event of its own
// making calls it deeper and deeper. What it did and undid is not told.

// pauseTellings is how often in a row one goroutine tells of pauses, which have changed meanwhile each time. Event functions that
// pause for a resume, and resume for a pause, would never give it back. They are told the next one after pauseRest.
const (
	pauseTellings = 8
	pauseRest     = time.Second
)

// untoldPauseLocked is the event that the run stands still, or that it goes on, where what was told last is another; nil too while
// somebody else tells, who looks again. Who gets one calls tellPauses with it. A pause from before the run is told when it began.
func (r *running) untoldPauseLocked() Event {
	stands, told := len(r.c.pauses) > 0, !r.pausedSince.IsZero()
	if stands == told || r.tellsPauses || !r.toldStarted || r.c.running != r {
		return nil
	}
	r.tellsPauses = true
	if stands {
		r.pausedSince = time.Now()
		return &Paused{Origin: r.origin, Why: strings.Join(r.c.pauseReasonsLocked(), "; ")}
	}
	after := r.wentOn.Sub(r.pausedSince)
	r.pausedSince = time.Time{}
	return &Resumed{Origin: r.origin, After: after}
}

// tellPauses tells of a pause or its end, and of what has come of it when the event functions have returned.
func (r *running) tellPauses(untold Event) {
	for n := 1; untold != nil; n++ {
		r.tellPause(untold)
		if n == pauseTellings {
			time.AfterFunc(pauseRest, func() { r.tellPauses(r.untoldPause()) })
			return
		}
		untold = r.untoldPause()
	}
}

func (r *running) untoldPause() Event {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return r.untoldPauseLocked()
}

func (r *running) tellPause(e Event) {
	defer func() { // also after an event function that ended its goroutine
		r.c.mu.Lock()
		r.tellsPauses = false
		r.c.mu.Unlock()
	}()
	r.emit(e)
}
