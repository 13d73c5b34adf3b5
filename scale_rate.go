package wherry

import "time"

const (
	// rateParts and ratePart make the time that a rate is taken over, half a minute, and one part that is not over yet.
	rateParts = 31
	ratePart  = time.Second
)

// A workRate is how many messages a second are handled while work waits. Time in which nothing waits tells nothing of how
// fast a consumer can be, and is left out.
type workRate struct {
	parts [rateParts]ratedTime
	at    int
}

// A ratedTime is a part of the time that work waited.
type ratedTime struct {
	handled uint64
	took    time.Duration
}

// add notes what was handled in a time during which work waited.
func (r *workRate) add(handled uint64, took time.Duration) {
	p := &r.parts[r.at]
	p.handled += handled
	p.took += took
	if p.took >= ratePart {
		r.at = (r.at + 1) % rateParts
		r.parts[r.at] = ratedTime{}
	}
}

// perSecond is the rate, 0 when it is not known.
func (r *workRate) perSecond() float64 {
	var all ratedTime
	for _, p := range r.parts {
		all.handled += p.handled
		all.took += p.took
	}
	if all.took <= 0 {
		return 0
	}
	return float64(all.handled) / all.took.Seconds()
}
