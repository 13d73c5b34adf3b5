package load

import (
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

func TestQuantiles(t *testing.T) {
	t.Parallel()
	var ns []int64
	for i := range int64(1000) {
		ns = append(ns, (i+1)*1_000_000)
	}
	got := quantilesOf(ns)
	near := func(name string, got, want int64) {
		if got < want-want/1000 || got > want+want/1000 {
			t.Errorf("%s is %d, want %d within a thousandth", name, got, want)
		}
	}
	near("p50", got.P50, 500_000_000)
	near("p95", got.P95, 950_000_000)
	near("p99", got.P99, 990_000_000)
	near("p99.9", got.P999, 999_000_000)
	if got.Max < got.P999 {
		t.Errorf("the maximum is %d, below p99.9 of %d", got.Max, got.P999)
	}
	near("max", got.Max, 1_000_000_000)
	if few := quantilesOf([]int64{0, -5}); *few != (document.Quantiles{P50: 1, P95: 1, P99: 1, P999: 1, Max: 1}) {
		t.Errorf("of nothing to speak of: %+v", few)
	}
	if long := quantilesOf([]int64{longest * 2}); long.Max != longest*2 || long.P50 > long.Max {
		t.Errorf("of two minutes: %+v", long)
	}
}

func TestPeakLag(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sent, handled []int64
		want          int64
	}{
		{nil, nil, 0},
		{[]int64{1, 2, 3}, []int64{1, 2, 3}, 0},
		{[]int64{1, 2, 3, 9}, []int64{10, 8, 2, 5}, 2},
		{[]int64{1, 2, 3, 4}, []int64{5, 6, 7, 8}, 4},
		{[]int64{1, 2, 3, 4}, []int64{3, 2}, 2},
	} {
		if got := peakLag(c.sent, c.handled); got != c.want {
			t.Errorf("%v handled at %v: got %d, want %d", c.sent, c.handled, got, c.want)
		}
	}
}
