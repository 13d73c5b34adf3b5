package demo

import (
	"testing"
	"time"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	m := newMeter()
	if got := m.latency(); got != (Latency{}) {
		t.Errorf("without messages got %+v", got)
	}
	for i := range 1000 {
		m.record(time.Duration(i+1) * time.Millisecond)
	}
	got := m.latency()
	for _, c := range []struct {
		name      string
		got, want time.Duration
	}{
		{"p50", got.P50, 500 * time.Millisecond},
		{"p90", got.P90, 900 * time.Millisecond},
		{"p99", got.P99, 990 * time.Millisecond},
		{"max", got.Max, time.Second},
	} {
		if off := (c.got - c.want).Abs(); off > c.want/500 {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestMeterBounds records what no histogram has room for.
func TestMeterBounds(t *testing.T) {
	t.Parallel()
	m := newMeter()
	m.record(-time.Second)
	m.record(48 * time.Hour)
	got := m.latency()
	if got.P50 != time.Microsecond {
		t.Errorf("the smallest is %v, want 1 µs", got.P50)
	}
	if got.Max < longestLatency || got.Max > longestLatency+longestLatency/500 {
		t.Errorf("the largest is %v, want %v", got.Max, longestLatency)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	var r rate
	begin := time.Unix(1_800_000_000, 0)
	at := func(d time.Duration, count int) float64 { return r.perSecond(begin.Add(d), count) }
	if got := at(0, 100); got != 0 {
		t.Errorf("the first sample gives %v, want 0", got)
	}
	if got := at(time.Second, 300); got != 200 {
		t.Errorf("after a second %v, want 200", got)
	}
	at(2*time.Second, 500)
	if got := at(4*time.Second, 500); got != 0 {
		t.Errorf("after two seconds without growth %v, want 0", got)
	}
	for i := range 1000 {
		at(4*time.Second+time.Duration(i)*time.Millisecond, 500+i)
	}
	if n := len(r.samples); n > 1002 {
		t.Errorf("%d samples are kept", n)
	}
	if got := at(8*time.Second, 1802); len(r.samples) != 2 || got < 100 || got > 102 {
		t.Errorf("after a gap %v over %d samples", got, len(r.samples))
	}
}
