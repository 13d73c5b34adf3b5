package mem

import "time"

// setTimer has a timer that calls f go off after d, and makes it where there is none yet.
func setTimer(t *time.Timer, d time.Duration, f func()) *time.Timer {
	if t == nil {
		return time.AfterFunc(d, f)
	}
	t.Reset(d)
	return t
}
