package demo

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

const (
	// longestLatency is the largest that a histogram tells from larger ones.
	longestLatency = 10 * time.Minute
	latencyDigits  = 3
)

// Latency is how long messages took from their publish to the acknowledging return of their handler, the waits between
// attempts included. All are 0 without messages.
type Latency struct {
	P50, P90, P99, Max time.Duration
}

// A meter measures latencies. It is made by newMeter.
type meter struct {
	mu   sync.Mutex // guards the field below
	hist *hdrhistogram.Histogram
}

func newMeter() *meter {
	return &meter{hist: hdrhistogram.New(1, longestLatency.Microseconds(), latencyDigits)}
}

func (m *meter) record(d time.Duration) {
	us := min(max(d, time.Microsecond), longestLatency).Microseconds()
	m.mu.Lock()
	defer m.mu.Unlock()
	_ = m.hist.RecordValue(us) // it is within the bounds
}

func (m *meter) latency() Latency {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := func(q float64) time.Duration { return time.Duration(m.hist.ValueAtQuantile(q)) * time.Microsecond }
	return Latency{P50: at(50), P90: at(90), P99: at(99), Max: time.Duration(m.hist.Max()) * time.Microsecond}
}

// rateWindow is how far back rates look.
const rateWindow = 2 * time.Second

// A rate is how fast a count grows. The zero rate is ready to use; it is for one goroutine.
type rate struct {
	samples []sample // of the window, and the last before it
}

type sample struct {
	at    time.Time
	count int
}

// perSecond takes a sample and returns the growth per second over the window.
func (r *rate) perSecond(at time.Time, count int) float64 {
	r.samples = append(r.samples, sample{at, count})
	for len(r.samples) > 2 && at.Sub(r.samples[1].at) >= rateWindow {
		r.samples = r.samples[1:]
	}
	first := r.samples[0]
	over := at.Sub(first.at)
	if over <= 0 {
		return 0
	}
	return float64(count-first.count) / over.Seconds()
}
