package progress

import "time"

// An estimate follows steps and says how long they will still take: as long as was expected, times what the steps that
// are over have taken beside what was expected of them.
type estimate struct {
	steps    []Step
	begun    int // steps, the current one included
	since    time.Time
	running  bool
	expected time.Duration // of the steps that are over
	took     time.Duration
}

func (e *estimate) begin(now time.Time) {
	e.begun++
	e.since, e.running = now, true
}

func (e *estimate) end(now time.Time) {
	if took := now.Sub(e.since); e.running && took >= leastTaken {
		e.expected += e.current()
		e.took += took
	}
	e.running = false
}

// leastTaken is the least time of a step in which something was done. One that is over at once, as of a cell that has failed
// before, says nothing of how long the others take.
const leastTaken = 5 * time.Millisecond

// current is what was expected of the current step, or of the last one.
func (e *estimate) current() time.Duration {
	if e.begun < 1 || e.begun > len(e.steps) {
		return 0
	}
	return e.steps[e.begun-1].Expected
}

// pace is how much longer steps take than expected.
func (e *estimate) pace() float64 {
	if e.expected <= 0 || e.took <= 0 {
		return 1
	}
	return float64(e.took) / float64(e.expected)
}

// left is how long the steps will still take.
func (e *estimate) left(now time.Time) time.Duration {
	later := time.Duration(0)
	for _, step := range e.steps[min(e.begun, len(e.steps)):] {
		later += step.Expected
	}
	left := time.Duration(float64(later) * e.pace())
	if e.running {
		left += max(time.Duration(float64(e.current())*e.pace())-now.Sub(e.since), 0)
	}
	return left
}

// share is how much of all is done, between 0 and 1.
func (e *estimate) share(now time.Time) float64 {
	done := e.took
	if e.running {
		done += now.Sub(e.since)
	}
	if all := done + e.left(now); all > 0 {
		return float64(done) / float64(all)
	}
	return 0
}
