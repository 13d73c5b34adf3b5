package document

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// plainBootstrap draws values, not ranks, and keeps every median.
func plainBootstrap(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	source := rand.New(rand.NewPCG(seedHigh, seedLow))
	medians := make([]float64, 0, resamples)
	for range resamples {
		sample := make([]float64, 0, len(values))
		for range values {
			sample = append(sample, sorted[source.IntN(len(sorted))])
		}
		medians = append(medians, median(sample))
	}
	slices.Sort(medians)
	return medians[resamples/40], medians[resamples-1-resamples/40]
}

func TestBootstrap(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 21; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = 1 + source.Float64()
		}
		low, high := bootstrap(values)
		wantLow, wantHigh := plainBootstrap(values)
		if low != wantLow || high != wantHigh {
			t.Errorf("of %d values: %v to %v, want %v to %v", n, low, high, wantLow, wantHigh)
		}
		if middle := median(values); low > middle || middle > high {
			t.Errorf("of %d values: %v to %v is without the median %v", n, low, high, middle)
		}
	}
}

// TestRatioIsPaired has two rows that drift together, by more than they differ.
func TestRatioIsPaired(t *testing.T) {
	t.Parallel()
	of, to := sampleCell("parallel", 1), sampleCell("parallel", 2)
	p := &Part{Rows: []Row{{Cell: of, Method: Live}, {Cell: to, Method: Live}}}
	for round, drift := range []int64{100, 180, 60, 140, 220, 90, 130} {
		p.Rows[0].Runs = append(p.Rows[0].Runs, Run{Round: round, Messages: 1010, ElapsedNS: drift})
		// The other order, and a round in two slices.
		p.Rows[1].Runs = slices.Insert(p.Rows[1].Runs, 0,
			Run{Round: round, Messages: 400, ElapsedNS: drift / 2}, Run{Round: round, Messages: 600, ElapsedNS: drift - drift/2})
	}
	p.Rows[0].Runs = append(p.Rows[0].Runs, Run{Round: 99, Messages: 1, ElapsedNS: 1})
	p.Ratios = []Ratio{{Of: of, To: to}, {Of: of, To: sampleCell("sequenced", 1)}}
	p.Derive()
	if want := (Ratio{Of: of, To: to, Median: 1.01, Low: 1.01, High: 1.01, Rounds: 7}); len(p.Ratios) != 1 || p.Ratios[0] != want {
		t.Errorf("%+v, want %+v alone", p.Ratios, want)
	}
}

// TestIntervalOfFewRounds holds that a ratio says which of its intervals are no more than a range.
func TestIntervalOfFewRounds(t *testing.T) {
	t.Parallel()
	for rounds := 1; rounds <= 9; rounds++ {
		values := make([]float64, 0, rounds)
		for i := range rounds {
			values = append(values, float64(i+1))
		}
		low, high := bootstrap(values)
		whole := low == 1 && high == float64(rounds)
		if said := rounds <= rangeRounds; said != whole {
			t.Errorf("of %d rounds the interval is %v to %v, and said is that it is the range: %v", rounds, low, high, said)
		}
	}
	for rounds, want := range map[int]string{
		1: "one round", 3: "lowest and highest of 3 rounds", 5: "lowest and highest of 5 rounds", 7: "95 % interval of 7 rounds",
	} {
		if got := (&Ratio{Rounds: rounds}).Interval(); got != want {
			t.Errorf("of %d rounds it is called %q, want %q", rounds, got, want)
		}
	}
}
