package wherry

import (
	"context"
	"fmt"
	"time"
)

// A ScaleDecision is a change of the number of workers. The zero value is none.
type ScaleDecision struct {
	At       time.Time
	From, To int
	// Why is what it was decided by, in words.
	Why string
}

// A scaler decides how many workers a run has. It is one goroutine's.
type scaler struct {
	r       *running
	spec    *scaleSpec
	wishes  []wish    // what the strategy wanted of late, all of them more than there are, or all of them fewer
	changed time.Time // zero: not yet
}

// A wish is what the strategy wanted when it was asked.
type wish struct {
	at time.Time
	n  int
}

// scale looks at what waits, every so often, until ctx ends. A consumer that stops is not scaled.
func (r *running) scale(ctx context.Context) {
	s := &scaler{r: r, spec: r.c.spec.scale}
	t := time.NewTicker(s.spec.every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			s.look(time.Now())
		case <-ctx.Done():
			return
		case <-r.failed:
			return
		}
	}
}

// look asks the broker and the strategy, and changes the number of workers if it is time to.
func (s *scaler) look(now time.Time) {
	r := s.r
	depth, known := r.ask(now)
	if !known || depth.Ready < 0 || r.paused.Load() {
		s.wishes = s.wishes[:0] // what was wanted before nobody knows that it still is
		return
	}
	snap := ScaleSnapshot{
		Workers: r.crew.wanted(), Least: s.spec.least, Most: s.spec.most, PerWorker: r.c.spec.credit(r.volatile),
		Ready: depth.Ready, Rate: r.health.rate(),
	}
	if !depth.Oldest.IsZero() {
		snap.Oldest = max(now.Sub(depth.Oldest), 0)
	}
	for _, w := range r.crew.now() {
		w.mu.Lock()
		snap.InFlight += w.unsettled
		w.mu.Unlock()
	}
	to := s.judge(now, snap.Workers, min(max(s.ask(snap), snap.Least), snap.Most))
	if to == snap.Workers {
		return
	}
	d := ScaleDecision{At: now, From: snap.Workers, To: to, Why: s.why(&snap)}
	r.health.scaled(d)
	r.crew.resize(to)
	r.emit(&Scaled{Origin: r.origin, From: d.From, To: d.To, Why: d.Why})
}

// ask asks the strategy, which is the user's.
func (s *scaler) ask(snap ScaleSnapshot) (n int) {
	n = snap.Workers
	defer func() {
		if v := recover(); v != nil {
			s.r.emit(&Panicked{Origin: s.r.origin, Value: v, Stack: newPanicError(v).Stack})
		}
	}()
	return s.spec.by.Scale(snap)
}

// judge returns how many workers there are to be, of now, by what the strategy wants and has wanted.
func (s *scaler) judge(at time.Time, now, wanted int) int {
	if len(s.wishes) > 0 && (s.wishes[0].n > now) != (wanted > now) || wanted == now {
		s.wishes = s.wishes[:0]
	}
	if wanted == now {
		return now
	}
	s.wishes = append(s.wishes, wish{at, wanted})
	// Of those that are older than the hold the last stays: it tells what was wanted when the hold began.
	for len(s.wishes) > 1 && at.Sub(s.wishes[1].at) >= s.spec.after {
		s.wishes = s.wishes[1:]
	}
	if at.Sub(s.wishes[0].at) < s.spec.after || !s.changed.IsZero() && at.Sub(s.changed) < s.spec.cooldown {
		return now
	}
	to := wanted
	for _, w := range s.wishes {
		if wanted > now {
			to = min(to, w.n)
		} else {
			to = max(to, w.n)
		}
	}
	s.wishes, s.changed = s.wishes[:0], at
	return to
}

// why is what a decision was made by.
func (s *scaler) why(snap *ScaleSnapshot) string {
	text := fmt.Sprintf("%d ready, %s for %d", snap.Ready, workersText(snap.Workers), snap.Capacity())
	if snap.Oldest > 0 {
		text += fmt.Sprintf(", the oldest for %v", snap.Oldest.Round(time.Millisecond))
	}
	return text
}

func workersText(n int) string {
	if n == 1 {
		return "1 worker"
	}
	return fmt.Sprintf("%d workers", n)
}
