package charts

import (
	"slices"
	"testing"

	"github.com/wherryhq/wherry/bench/quantity"
)

func TestValueAxis(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		log    bool
		ticks  []float64
	}{
		{[]float64{900_000, 3_600_000}, false, []float64{0, 1e6, 2e6, 3e6, 4e6}},
		{[]float64{1, 1}, false, []float64{0, 0.5, 1}},
		{[]float64{0, 7}, false, []float64{0, 2, 4, 6, 8}},
		{[]float64{0, 0}, false, []float64{0, 0.5, 1}},
		{[]float64{70, 2000}, true, []float64{50, 100, 200, 500, 1000, 2000}},
		{[]float64{30, 40_000}, true, []float64{30, 100, 300, 1000, 3000, 10_000, 30_000}},
		{[]float64{1, 1e6}, true, []float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6}},
	} {
		a := valueAxis("rate", quantity.Rate, c.values)
		if a.log != c.log || !slices.Equal(a.ticks, c.ticks) {
			t.Errorf("of %v: log %v and ticks %v, want %v and %v", c.values, a.log, a.ticks, c.log, c.ticks)
		}
		for _, v := range append(slices.Clone(c.values), a.ticks...) {
			if s := a.share(v); s < -0.001 || s > 1.001 {
				t.Errorf("of %v: %v stands at %v, outside the axis", c.values, v, s)
			}
		}
	}
}

func TestLeverAxis(t *testing.T) {
	t.Parallel()
	a := leverAxis("consumers", quantity.Whole, []float64{4, 1, 2, 8, 4})
	if want := []float64{1, 2, 4, 8}; !slices.Equal(a.ticks, want) {
		t.Errorf("the ticks are %v, want %v", a.ticks, want)
	}
	if s := a.share(1); s != 0 {
		t.Errorf("the first stands at %v, want 0", s)
	}
	if s := a.share(8); s != 1 {
		t.Errorf("the last stands at %v, want 1", s)
	}
	one := leverAxis("consumers", quantity.Whole, []float64{3})
	if s := one.share(3); s != 0.5 {
		t.Errorf("the only one stands at %v, want the middle", s)
	}
}

func TestApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ places, want []float64 }{
		{[]float64{10, 50, 90}, []float64{10, 50, 90}},
		{[]float64{50, 51, 52}, []float64{50, 60, 70}},
		{[]float64{-5, 0, 95, 99}, []float64{0, 10, 90, 100}},
		{[]float64{98, 99, 100}, []float64{80, 90, 100}},
	} {
		if got := apart(c.places, 10, 0, 100); !slices.Equal(got, c.want) {
			t.Errorf("%v become %v, want %v", c.places, got, c.want)
		}
	}
}

func TestWrapAndFit(t *testing.T) {
	t.Parallel()
	const most = 120.0
	for _, line := range labelFace.wrap("a chart says what it compares and where its numbers come from", most) {
		if w := labelFace.measure(line); w > most {
			t.Errorf("the line %q is %.0f wide, want at most %.0f", line, w, most)
		}
	}
	if lines := labelFace.wrap("incomprehensibilities", 20); len(lines) != 1 {
		t.Errorf("a long word is broken into %q, want it alone", lines)
	}
	if got := labelFace.fit("short", most); got != "short" {
		t.Errorf("a text that fits becomes %q", got)
	}
	if got := labelFace.fit("a label that is much too long for its column", most); labelFace.measure(got) > most || got[:7] != "a label" {
		t.Errorf("a text that does not fit becomes %q, %.0f wide", got, labelFace.measure(got))
	}
}
