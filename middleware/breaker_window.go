package middleware

import "time"

// windowParts is the number of parts in which a window moves on.
const windowParts = 10

// callWindow counts the outcomes of a sliding time.
type callWindow struct {
	width time.Duration // of a part
	parts [windowParts]struct{ calls, failures int }
	began time.Time // with the first outcome. Parts are counted from it, by its monotonic reading
	now   int64     // the number of the current part
}

// add counts an outcome and returns the sums of the window.
func (w *callWindow) add(now time.Time, failed bool) (calls, failures int) {
	if w.began.IsZero() {
		w.began = now
	}
	n := int64(max(now.Sub(w.began), 0) / max(w.width, 1))
	if gone := n - w.now; gone < 0 || gone >= windowParts {
		w.clear()
	} else {
		for i := range gone {
			w.parts[(w.now+1+i)%windowParts] = struct{ calls, failures int }{}
		}
	}
	w.now = n
	p := &w.parts[n%windowParts]
	p.calls++
	if failed {
		p.failures++
	}
	for i := range w.parts {
		calls += w.parts[i].calls
		failures += w.parts[i].failures
	}
	return calls, failures
}

func (w *callWindow) clear() { clear(w.parts[:]) }
