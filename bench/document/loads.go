package document

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/bench/quantity"
)

// SustainedAt reports whether a load was sustained at a rate per second, by the rules that [Part.Derive] applies.
func (l Load) SustainedAt(rate int) bool {
	l.derive(rate)
	return l.Sustained
}

// TakeMedian makes the row that of the load in the middle of those that were measured, by the p99 of the latency from the send:
// one that was not sustained is above all others. The loads are in the order of their rounds. A note of the row tells what each
// of several came to, see [RunsNote]. The latency from the intended time is withheld from one whose pacer was too late. There
// is at least one load.
func (r *Row) TakeMedian(loads []*Load) {
	p99 := func(l *Load) int64 {
		if !l.SustainedAt(r.Rate) || l.FromSend == nil {
			return math.MaxInt64
		}
		return l.FromSend.P99
	}
	sorted := slices.SortedStableFunc(slices.Values(loads), func(a, b *Load) int { return cmp.Compare(p99(a), p99(b)) })
	load := *sorted[(len(sorted)-1)/2]
	if len(sorted) > 1 {
		r.Notes = append(slices.Clip(r.Notes), fmt.Sprintf(runsNote, len(sorted), strings.Join(eachOf(sorted, p99), ", ")))
		load.Runs = len(sorted)
		load.P99sFromSend = everyRun(loads, func(l *Load) *Quantiles { return l.FromSend }, r.Rate)
		load.P99s = everyRun(loads, func(l *Load) *Quantiles {
			if l.PacerTooLate() {
				return nil
			}
			return l.Latency
		}, r.Rate)
	}
	load.derive(r.Rate)
	if load.PacerTooLate() {
		load.Withhold()
	}
	r.Load = &load
}

// everyRun are the p99 of loads, or nil where one of them has none.
func everyRun(loads []*Load, of func(*Load) *Quantiles, rate int) []int64 {
	all := make([]int64, 0, len(loads))
	for _, l := range loads {
		q := of(l)
		if q == nil || !l.SustainedAt(rate) {
			return nil
		}
		all = append(all, q.P99)
	}
	return all
}

// runsNote is the note of a row whose load is one of several.
const runsNote = "the median of %d runs, whose p99 from the send were %s"

// RunsNote is what a note says of the p99 of each run, where it is the note that [Row.TakeMedian] makes.
func RunsNote(note string) (each string, ok bool) {
	var runs int
	if _, err := fmt.Sscanf(note, strings.TrimSuffix(runsNote, "%s"), &runs); err != nil {
		return "", false
	}
	_, each, ok = strings.Cut(note, "from the send were ")
	return each, ok
}

func eachOf(loads []*Load, p99 func(*Load) int64) []string {
	each := make([]string, 0, len(loads))
	for _, l := range loads {
		if v := p99(l); v < math.MaxInt64 {
			each = append(each, quantity.Duration(float64(v)))
		} else {
			each = append(each, "not sustained")
		}
	}
	return each
}
