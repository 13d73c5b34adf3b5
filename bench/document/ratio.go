package document

import (
	"math/rand/v2"
	"slices"
)

// The bootstrap of a ratio draws this often, from this seed, so that it comes out the same everywhere.
const (
	resamples = 10_000
	seedHigh  = 0x57686572_72790001
	seedLow   = 0x62656e63_686d6172
)

// interval is the share of resamples that lie within the interval of a ratio.
const interval = 0.95

// ratio compares two rows by their rounds. It is false if they have none in common.
func (p *Part) ratio(of, to Cell) (Ratio, bool) {
	a, b := p.row(of), p.row(to)
	if a == nil || b == nil {
		return Ratio{}, false
	}
	pairs := paired(a.Runs, b.Runs)
	if len(pairs) == 0 {
		return Ratio{}, false
	}
	low, high := bootstrap(pairs)
	return Ratio{
		Of: of, To: to,
		Median: rounded(median(pairs)),
		Low:    rounded(low),
		High:   rounded(high),
		Rounds: len(pairs),
	}, true
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
	source := rand.New(rand.NewPCG(seedHigh, seedLow))
	medians := make([]float64, resamples)
	sample := make([]float64, len(values))
	for i := range medians {
		for j := range sample {
			sample[j] = values[source.IntN(len(values))]
		}
		medians[i] = median(sample)
	}
	slices.Sort(medians)
	tail := int((1 - interval) / 2 * resamples)
	return medians[tail], medians[resamples-1-tail]
}
