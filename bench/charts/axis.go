package charts

import (
	"math"
	"slices"
)

// An axis maps values to a length.
type axis struct {
	title string
	unit  func(float64) string
	log   bool
	low   float64
	high  float64
	ticks []float64
}

// logFrom is the ratio of the largest to the smallest value from which a scale is logarithmic.
const logFrom = 15

// valueAxis is the axis of measured values. It begins at zero where it is linear.
func valueAxis(title string, unit func(float64) string, values []float64) axis {
	low, high := slices.Min(values), slices.Max(values)
	a := axis{title: title, unit: unit}
	if low > 0 && high/low >= logFrom {
		a.log, a.title = true, title+" (log scale)"
		a.low, a.high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
		a.low, a.high = nearest(low, a.low), high*1.15
		a.logTicks()
		return a
	}
	if high <= 0 {
		high = 1
	}
	step := niceStep(high / 4)
	a.high = math.Ceil(high/step) * step
	for i := 0; float64(i)*step <= a.high*1.000001; i++ {
		a.ticks = append(a.ticks, float64(i)*step)
	}
	return a
}

// nearest is the largest of 1, 2 and 5 times a decade that is not above a value.
func nearest(value, decade float64) float64 {
	for _, m := range []float64{5, 2} {
		if m*decade <= value {
			return m * decade
		}
	}
	return decade
}

// logTicks puts a label at each power of ten, and at 2 and 5 times it where there is room.
func (a *axis) logTicks() {
	decades := math.Log10(a.high / a.low)
	multiples := []float64{1, 2, 5}
	switch {
	case decades > 4.5:
		multiples = []float64{1}
	case decades > 2.2:
		multiples = []float64{1, 3}
	}
	for e := math.Floor(math.Log10(a.low)); ; e++ {
		decade := math.Pow(10, e)
		if decade > a.high {
			return
		}
		for _, m := range multiples {
			if v := m * decade; v >= a.low*0.999 && v <= a.high*1.001 {
				a.ticks = append(a.ticks, v)
			}
		}
	}
}

// leverAxis is the axis of a lever: its values stand where their logarithms put them, each with a label.
func leverAxis(title string, unit func(float64) string, values []float64) axis {
	values = slices.Clone(values)
	slices.Sort(values)
	values = slices.Compact(values)
	a := axis{title: title, unit: unit, log: true, ticks: values}
	a.low, a.high = values[0], values[len(values)-1]
	if a.low == a.high {
		a.low, a.high = a.low/2, a.high*2
	}
	return a
}

// tick is the label of a tick.
func (a *axis) tick(v float64) string {
	if v == 0 {
		return "0"
	}
	return a.unit(v)
}

// share is where a value stands, from 0 at the low end to 1 at the high end.
func (a *axis) share(v float64) float64 {
	if !a.log {
		return (v - a.low) / (a.high - a.low)
	}
	v = max(v, a.low)
	return math.Log(v/a.low) / math.Log(a.high/a.low)
}

// niceStep is the smallest of 1, 2 and 5 times a power of ten that is not below a step.
func niceStep(step float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if m*decade >= step*0.999999 {
			return m * decade
		}
	}
	return 10 * decade
}
