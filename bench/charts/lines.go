package charts

import (
	"cmp"
	"slices"
)

// margin is what stays free at both sides of a chart.
const margin = 20.0

// A point is a value with its range.
type point struct{ x, low, mid, high float64 }

// A series is points that belong together.
type series struct {
	label  string
	colour int
	points []point // at least one
}

// lines is a body with a line for each series, and its label at the end of it.
type lines struct {
	x, y      axis
	series    []series
	reference *float64 // a value of y that the others are held against
}

const plotHeight = 270.0

func (l *lines) height() float64 { return plotHeight + 72 }

func (l *lines) draw(c *canvas, top float64) {
	left := margin
	for _, t := range l.y.ticks {
		left = max(left, margin+labelFace.measure(l.y.tick(t))+10)
	}
	right := width - margin
	for _, s := range l.series {
		right = min(right, width-margin-min(labelFace.measure(s.label), labelWidth)-12)
	}
	top += 24
	bottom := top + plotHeight
	c.text(labelFace, c.theme.quiet, start, margin, top-12, l.y.title)
	l.frame(c, left, right, top, bottom)
	place := func(p point) (x, low, mid, high float64) {
		y := func(v float64) float64 { return bottom - l.y.share(v)*plotHeight }
		inner := right - left - 24
		return left + 12 + l.x.share(p.x)*inner, y(p.low), y(p.mid), y(p.high)
	}
	if l.reference != nil {
		y := bottom - l.y.share(*l.reference)*plotHeight
		c.line(stroke{colour: c.theme.accent, width: 1.5, dashed: true}, left, y, right, y)
	}
	for _, s := range l.series {
		colour := c.theme.colour(s.colour)
		var xy []float64
		for _, p := range s.points {
			x, low, mid, high := place(p)
			c.line(stroke{colour: colour, width: 1.2}, x, low, x, high)
			xy = append(xy, x, mid)
		}
		c.line(stroke{colour: colour, width: 2.2}, xy...)
	}
	for _, s := range l.series {
		for _, p := range s.points {
			x, _, mid, _ := place(p)
			c.mark(s.colour, x, mid)
		}
	}
	l.labels(c, right, top, bottom, func(p point) float64 { _, _, mid, _ := place(p); return mid })
}

// frame draws the grid and the labels of both axes.
func (l *lines) frame(c *canvas, left, right, top, bottom float64) {
	for _, t := range l.y.ticks {
		y := bottom - l.y.share(t)*(bottom-top)
		c.line(stroke{colour: c.theme.grid, width: 1}, left, y, right, y)
		c.text(labelFace, c.theme.quiet, end, left-8, y+5, l.y.tick(t))
	}
	for _, t := range l.x.ticks {
		x := left + 12 + l.x.share(t)*(right-left-24)
		c.line(stroke{colour: c.theme.grid, width: 1}, x, bottom, x, bottom+5)
		c.text(labelFace, c.theme.quiet, middle, x, bottom+20, l.x.tick(t))
	}
	c.text(labelFace, c.theme.quiet, middle, (left+right)/2, bottom+39, l.x.title)
}

// labels writes the name of each series at the height of its last point, moved apart where they would touch.
func (l *lines) labels(c *canvas, right, top, bottom float64, height func(point) float64) {
	type label struct {
		y float64
		s series
	}
	labels := make([]label, 0, len(l.series))
	for _, s := range l.series {
		labels = append(labels, label{height(s.points[len(s.points)-1]), s})
	}
	slices.SortStableFunc(labels, func(a, b label) int { return cmp.Compare(a.y, b.y) })
	heights := make([]float64, len(labels))
	for i, l := range labels {
		heights[i] = l.y
	}
	for i, y := range apart(heights, labelFace.leading(), top, bottom) {
		c.text(labelFace, c.theme.colour(labels[i].s.colour), start, right+8, y+5, labelFace.fit(labels[i].s.label, labelWidth))
	}
}

// apart moves sorted places apart until each is a distance from the next, within bounds as far as there is room.
func apart(places []float64, distance, top, bottom float64) []float64 {
	moved := slices.Clone(places)
	for i := range moved {
		if i == 0 {
			moved[i] = max(moved[i], top)
			continue
		}
		moved[i] = max(moved[i], moved[i-1]+distance)
	}
	for i := len(moved) - 1; i >= 0; i-- {
		limit := bottom
		if i+1 < len(moved) {
			limit = moved[i+1] - distance
		}
		moved[i] = min(moved[i], limit)
	}
	return moved
}
