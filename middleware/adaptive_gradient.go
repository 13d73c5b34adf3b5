package middleware

import (
	"math"
	"time"
)

const (
	// probeCalls is how many calls are measured with few others.
	probeCalls = 20
	// probeApart is the fewest calls between two such measurements, so that they cost a few parts in a hundred.
	probeApart = 50 * probeCalls
	// steepest is the most that a window takes away for being slow.
	steepest = 0.5
)

// A gradient is the arithmetic of an [AdaptiveLimit], whose lock guards it.
//
// Its two states are the usual one, in which windows correct the limit, and probing, in which fewer calls run and the time
// that they take becomes the measure of all that follow. Between them a round is raised, so that no call counts in
// another state than that in which it began.
type gradient struct {
	cfg      *AdaptiveConfig
	limit    float64
	unloaded float64 // nanoseconds a call with few others; 0: not measured
	latency  float64 // nanoseconds a call in the last window

	probing bool
	few     int // calls at once while probing
	settled bool
	asked   time.Time // when it began
	round   uint64
	probed  time.Time // when the last ended
	since   int       // calls after it

	window window
}

// A window is the calls between two corrections.
type window struct {
	began  time.Time // zero: not yet
	good   int
	failed int
	took   float64 // nanoseconds, of the good ones
	most   int     // that ran at once
}

func (g *gradient) init(c *AdaptiveConfig) {
	g.cfg = c
	g.limit = float64(c.Initial)
	g.probe(c.Initial)
	g.settled = true // nothing runs yet that has to end first
}

// now is how many calls may run.
func (g *gradient) now() int {
	if g.probing {
		return g.few
	}
	return g.whole()
}

func (g *gradient) whole() int { return min(max(int(g.limit+1e-9), g.cfg.Min), g.cfg.Max) }

// probe begins to measure with few calls at once.
func (g *gradient) probe(few int) {
	g.probing, g.few, g.settled, g.asked = true, few, false, time.Now()
	g.turn()
}

// overdue gives a measurement up that takes too long, and reports whether it did: calls that never end may be all that it
// lets run. A later one may come to more.
func (g *gradient) overdue() bool {
	if !g.probing || g.unloaded == 0 || time.Since(g.asked) < g.cfg.ProbeEvery {
		return false
	}
	g.probing, g.probed, g.since = false, time.Now(), 0
	g.turn()
	return true
}

func (g *gradient) turn() {
	g.round++
	g.window = window{}
}

func (g *gradient) begin() call { return call{began: time.Now(), round: g.round} }

// reached notes how many run at once.
func (g *gradient) reached(n int) { g.window.most = max(g.window.most, n) }

// end notes a call that ended, after which left still run.
func (g *gradient) end(c call, v verdict, at time.Time, left int) {
	g.since++
	if g.probing && !g.settled {
		// More calls than few run still, and make it slow.
		if left < g.few {
			g.settled = true
			g.turn()
		}
		return
	}
	if c.round != g.round {
		return
	}
	w := &g.window
	if w.began.IsZero() {
		w.began = c.began
	}
	switch v {
	case success:
		w.good++
		w.took += float64(at.Sub(c.began))
	case failure:
		w.failed++
	default:
		return
	}
	calls := w.good + w.failed
	switch {
	case g.probing:
		if calls >= probeCalls || w.failed > 0 && g.tooManyFailed() && calls >= g.cfg.WindowCalls {
			g.measured(at)
		}
	case at.Sub(w.began) >= g.cfg.Window && calls >= max(g.cfg.WindowCalls, int(g.limit/2)):
		g.correct()
		g.window = window{began: at}
		if at.Sub(g.probed) >= g.cfg.ProbeEvery && g.since >= probeApart {
			g.probe(max(g.whole()/2, g.cfg.Min))
		}
	}
}

// tooManyFailed is whether the window lets the limit back off.
func (g *gradient) tooManyFailed() bool {
	w := &g.window
	return float64(w.failed) >= g.cfg.FailureRatio*float64(w.good+w.failed)
}

// measured ends a measurement.
func (g *gradient) measured(at time.Time) {
	w := &g.window
	if w.failed > 0 && g.tooManyFailed() {
		g.backOff()
		g.probe(min(g.few, max(g.whole()/2, g.cfg.Min))) // a failing dependency is no measure
		return
	}
	g.unloaded = max(w.took/float64(w.good), 1)
	g.latency = g.unloaded
	g.probing, g.probed, g.since = false, at, 0
	g.turn()
}

// backOff takes half of the share of failed calls.
func (g *gradient) backOff() {
	w := &g.window
	share := float64(w.failed) / float64(w.good+w.failed)
	g.set(g.limit * (1 - share/2))
}

// correct moves the limit by what the window says.
func (g *gradient) correct() {
	w := &g.window
	if w.good > 0 {
		g.latency = max(w.took/float64(w.good), 1)
	}
	if w.failed > 0 && g.tooManyFailed() {
		g.backOff()
		return
	}
	slope := min(max(g.cfg.Tolerance*g.unloaded/g.latency, steepest), 1)
	to := slope*g.limit + math.Sqrt(g.limit)
	if to > g.limit && w.most < g.whole() {
		return // it is not known whether more would do
	}
	g.set((1-g.cfg.Smoothing)*g.limit + g.cfg.Smoothing*to)
}

func (g *gradient) set(limit float64) {
	g.limit = min(max(limit, float64(g.cfg.Min)), float64(g.cfg.Max))
}
