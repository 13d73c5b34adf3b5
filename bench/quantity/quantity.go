// Package quantity writes measured numbers for people: rates, times, sizes and ratios, and ranges that contain what they
// are about.
package quantity

import (
	"math"
	"strconv"
	"strings"
)

// Number writes a number with three significant digits, or all of those before the point.
func Number(v float64) string {
	a := math.Abs(v)
	switch {
	case a == 0:
		return "0"
	case a >= 99.95:
		return Whole(v)
	case a >= 9.995:
		return trimmed(strconv.FormatFloat(v, 'f', 1, 64))
	case a >= 0.9995:
		return trimmed(strconv.FormatFloat(v, 'f', 2, 64))
	default:
		return trimmed(strconv.FormatFloat(v, 'f', max(2-exponent(a), 3), 64))
	}
}

func trimmed(s string) string {
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return strings.Replace(s, "-", "−", 1)
}

// exponent is the power of ten of the first digit.
func exponent(v float64) int { return int(math.Floor(math.Log10(v))) }

// Whole writes the nearest whole number, with commas.
func Whole(v float64) string {
	s := strconv.FormatInt(int64(math.Abs(math.Round(v))), 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if math.Round(v) < 0 {
		return "−" + s
	}
	return s
}

// Count writes a number of things, as "1 row" or "1,200 rows".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Whole(float64(n)) + " " + thing + "s"
}

// Rate writes a count per second, as "1.2 M", "340 k" or "900".
func Rate(v float64) string {
	switch a := math.Abs(v); {
	case a >= 999_500:
		return Number(v/1e6) + " M"
	case a >= 1000:
		return Number(v/1e3) + " k"
	default:
		return Number(v)
	}
}

// Duration writes nanoseconds in the unit that suits.
func Duration(v float64) string {
	switch a := math.Abs(v); {
	case a >= 999_500_000:
		return Number(v/1e9) + " s"
	case a >= 999_500:
		return Number(v/1e6) + " ms"
	case a >= 999.5:
		return Number(v/1e3) + " µs"
	default:
		return Number(v) + " ns"
	}
}

// Size writes bytes, as "64 B" or "1 KiB".
func Size(v float64) string {
	switch {
	case v >= 1<<30:
		return Number(v/(1<<30)) + " GiB"
	case v >= 1<<20:
		return Number(v/(1<<20)) + " MiB"
	case v >= 1<<10:
		return Number(v/(1<<10)) + " KiB"
	default:
		return Number(v) + " B"
	}
}

// Times writes a ratio, as "1.25×".
func Times(v float64) string { return Number(v) + "×" }

// Span writes a range so that it contains both ends: they are rounded outward, to two significant digits.
func Span(low, high float64, unit func(float64) string) string {
	l, h := unit(Down(low)), unit(Up(high))
	if l == h {
		return l
	}
	return l + " to " + h
}

// Down rounds to the next number of two significant digits that is not above.
func Down(v float64) float64 { return outward(v, math.Floor) }

// Up rounds to the next number of two significant digits that is not below.
func Up(v float64) float64 { return outward(v, math.Ceil) }

func outward(v float64, round func(float64) float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	// A power of ten is exact only as a whole number, so small steps are divided by and large ones multiplied.
	e := exponent(math.Abs(v)) - 1
	if e < 0 {
		scale := math.Pow(10, float64(-e))
		return round(v*scale) / scale
	}
	step := math.Pow(10, float64(e))
	return round(v/step) * step
}
