package document

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
)

// The bootstrap of a ratio draws this often, from this seed, so that it comes out the same everywhere.
const (
	resamples = 10_000
	seedHigh  = 0x57686572_72790001
	seedLow   = 0x62656e63_686d6172
)

// interval is the share of resamples that lie within the interval of a ratio.
const interval = 0.95

// rangeRounds is up to how many rounds the interval of a median is all of their range: of five, the lowest is the median of
// one sample in seventeen.
const rangeRounds = 5

// Interval says what Low and High are.
func (r *Ratio) Interval() string {
	switch {
	case r.Rounds == 1:
		return "one round"
	case r.Rounds <= rangeRounds:
		return fmt.Sprintf("lowest and highest of %d rounds", r.Rounds)
	default:
		return fmt.Sprintf("95 %% interval of %d rounds", r.Rounds)
	}
}

// ratio compares two rows by their rounds. It has no rounds if they have none in common.
func (p *Part) ratio(of, to Cell) Ratio {
	a, b := p.Row(of), p.Row(to)
	if a == nil || b == nil {
		return Ratio{Of: of, To: to}
	}
	pairs := paired(a.Runs, b.Runs)
	if len(pairs) == 0 {
		return Ratio{Of: of, To: to}
	}
	low, high := bootstrap(pairs)
	return Ratio{
		Of: of, To: to,
		Median: rounded(median(pairs)),
		Low:    rounded(low),
		High:   rounded(high),
		Rounds: len(pairs),
	}
}

// paired are the ratios of the rates of each round that both have, in the order of the rounds.
func paired(of, to []Run) []float64 {
	a, b := byRound(of), byRound(to)
	rounds := make([]int, 0, len(a))
	for round := range a {
		if b[round] > 0 && a[round] > 0 {
			rounds = append(rounds, round)
		}
	}
	slices.Sort(rounds)
	ratios := make([]float64, 0, len(rounds))
	for _, round := range rounds {
		ratios = append(ratios, a[round]/b[round])
	}
	return ratios
}

// byRound is the rate of each round, over all runs of it.
func byRound(runs []Run) map[int]float64 {
	sums := map[int]Run{}
	for _, run := range runs {
		sum := sums[run.Round]
		sum.Messages += run.Messages
		sum.ElapsedNS += run.ElapsedNS
		sums[run.Round] = sum
	}
	rates := make(map[int]float64, len(sums))
	for round, sum := range sums {
		rates[round] = sum.Rate()
	}
	return rates
}

// bootstrap is the percentile interval of the median (Efron 1979): the medians of samples drawn with replacement.
func bootstrap(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	tally := middles(len(sorted))
	type weighted struct {
		median float64
		times  int
	}
	medians := make([]weighted, 0, len(tally))
	for ranks, times := range tally {
		medians = append(medians, weighted{(sorted[ranks[0]] + sorted[ranks[1]]) / 2, times})
	}
	slices.SortFunc(medians, func(a, b weighted) int { return cmp.Compare(a.median, b.median) })
	tail := int((1 - interval) / 2 * resamples)
	low, high = medians[0].median, medians[len(medians)-1].median
	seen := 0
	for _, m := range medians {
		if seen <= tail {
			low = m.median
		}
		if seen <= resamples-1-tail {
			high = m.median
		}
		seen += m.times
	}
	return low, high
}

// drawn remembers what middles drew: it depends on the number of values alone.
var drawn sync.Map

// middles draws samples of the ranks of n values and counts which two stand in the middle: the same one twice where n is
// odd. A median is then had from the values without drawing again.
func middles(n int) map[[2]int]int {
	if tally, ok := drawn.Load(n); ok {
		return tally.(map[[2]int]int) //nolint:forcetypeassert // Only this function stores.
	}
	source := rand.New(rand.NewPCG(seedHigh, seedLow))
	tally := map[[2]int]int{}
	sample := make([]int, n)
	for range resamples {
		for i := range sample {
			sample[i] = source.IntN(n)
		}
		slices.Sort(sample)
		tally[[2]int{sample[(n-1)/2], sample[n/2]}]++
	}
	drawn.Store(n, tally)
	return tally
}
