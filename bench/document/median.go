package document

import (
	"math"
	"slices"
	"strconv"
)

// digits is how many significant digits derived numbers keep. One wrong digit is then always more than [Tolerance].
const digits = 8

// Tolerance is how far, relative to itself, a derived value may stand from what it is derived from.
const Tolerance = 1e-9

// rounded keeps the significant digits of a derived number.
func rounded(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return short
}

// median of values that are not empty; of an even number, the mean of the two in the middle. It sorts them.
func median(values []float64) float64 {
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
