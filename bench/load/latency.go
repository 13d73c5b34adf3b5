package load

import (
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/wherryhq/wherry/bench/document"
)

// The histograms hold a nanosecond to a minute with three digits.
const (
	shortest = 1
	longest  = 60_000_000_000
	digits   = 3
)

// quantilesOf are those of durations in nanoseconds.
func quantilesOf(ns []int64) *document.Quantiles {
	h := hdrhistogram.New(shortest, longest, digits)
	most := int64(shortest)
	for _, v := range ns {
		most = max(most, v)
		_ = h.RecordValue(min(max(v, shortest), longest)) // It is within the bounds.
	}
	return &document.Quantiles{
		P50:  min(most, h.ValueAtQuantile(50)), // What the histogram says may be above what was recorded.
		P95:  min(most, h.ValueAtQuantile(95)),
		P99:  min(most, h.ValueAtQuantile(99)),
		P999: min(most, h.ValueAtQuantile(99.9)),
		Max:  most,
	}
}

// peakLag is the most messages that were sent and not handled at any time. Both are times; sent is in order.
func peakLag(sent, handled []int64) int64 {
	handled = slices.Sorted(slices.Values(handled))
	done, peak := 0, 0
	for i, at := range sent {
		for done < len(handled) && handled[done] <= at {
			done++
		}
		peak = max(peak, i+1-done)
	}
	return int64(peak)
}
