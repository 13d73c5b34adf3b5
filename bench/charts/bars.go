package charts

import "math"

// A reading is a value with its range, of one series, in a bar's row.
type reading struct {
	low, mid, high float64
	series         int
}

// A bar is one row of a chart of bars: a label, its readings, and the values in words.
type bar struct {
	label    string
	strong   bool // of Wherry's own
	readings []reading
	value    string
}

// bars is a body with a row for each thing that is compared: bars from zero where the axis is linear and each row has one
// reading, else marks with their ranges.
type bars struct {
	x         axis
	rows      []bar
	legend    []string // of the series, where a row has several
	reference *float64
	filled    bool
}

const rowHeight = 28.0

// labelWidth is the most that the labels of rows may take.
const labelWidth = 262.0

func (b *bar) face() typeface {
	if b.strong {
		return strongFace
	}
	return labelFace
}

func (b *bars) height() float64 {
	h := float64(len(b.rows))*rowHeight + 62
	if len(b.legend) > 0 {
		h += float64(len(legendRows(b.legend))) * 22
	}
	return h
}

func (b *bars) draw(c *canvas, top float64) {
	top += 12
	if len(b.legend) > 0 {
		top = b.drawLegend(c, top)
	}
	left, right := margin, width-margin
	for _, r := range b.rows {
		left = max(left, margin+min(r.face().measure(r.label), labelWidth)+12)
		right = min(right, width-margin-strongFace.measure(r.value)-12)
	}
	bottom := top + float64(len(b.rows))*rowHeight
	x := func(v float64) float64 { return left + b.x.share(v)*(right-left) }
	b.frame(c, x, left, right, top, bottom)
	for i, r := range b.rows {
		y := top + (float64(i)+0.5)*rowHeight
		face, colour := r.face(), c.theme.quiet
		if r.strong {
			colour = c.theme.ink
		}
		c.text(face, colour, end, left-12, y+5, face.fit(r.label, labelWidth))
		c.text(face, c.theme.ink, end, width-margin, y+5, r.value)
		if len(r.readings) > 1 {
			first, last := r.readings[0], r.readings[len(r.readings)-1]
			c.line(stroke{colour: c.theme.grid, width: 3}, x(first.mid), y, x(last.mid), y)
		}
		touch := len(r.readings) == 2 && math.Abs(x(r.readings[0].mid)-x(r.readings[1].mid)) < 2*markRadius
		for i, v := range r.readings {
			if touch {
				// Two marks in one place stand above each other, so that both are seen.
				b.reading(c, v, x, y+(float64(i)-0.5)*2*markRadius)
				continue
			}
			b.reading(c, v, x, y)
		}
	}
}

func (b *bars) reading(c *canvas, v reading, x func(float64) float64, y float64) {
	colour := c.theme.colour(v.series)
	if b.filled {
		c.box(x(0), y-8, x(v.mid)-x(0), 16, colour)
		if v.high > v.low {
			c.line(stroke{colour: c.theme.ink, width: 1.2}, x(v.low), y, x(v.high), y)
		}
		return
	}
	c.line(stroke{colour: colour, width: 2}, x(v.low), y, x(v.high), y)
	c.mark(v.series, x(v.mid), y)
}

func (b *bars) frame(c *canvas, x func(float64) float64, left, right, top, bottom float64) {
	previous := -1e9
	for _, t := range b.x.ticks {
		at := x(t)
		c.line(stroke{colour: c.theme.grid, width: 1}, at, top, at, bottom)
		label := b.x.tick(t)
		half := labelFace.measure(label) / 2
		if at-half < previous+10 || at+half > width-4 {
			continue
		}
		c.text(labelFace, c.theme.quiet, middle, at, bottom+18, label)
		previous = at + half
	}
	if b.reference != nil {
		c.line(stroke{colour: c.theme.accent, width: 1.5, dashed: true}, x(*b.reference), top, x(*b.reference), bottom)
	}
	half := labelFace.measure(b.x.title) / 2
	centre := min(max((left+right)/2, margin+half), width-margin-half)
	c.text(labelFace, c.theme.quiet, middle, centre, bottom+38, b.x.title)
}

// legendRows are the entries of a legend, by the rows that they fit in: each row as the indices of its entries.
func legendRows(legend []string) [][]int {
	var rows [][]int
	x := width
	for i, entry := range legend {
		need := labelFace.measure(entry) + 40
		if x+need > width-margin {
			rows, x = append(rows, nil), margin
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], i)
		x += need
	}
	return rows
}

func (b *bars) drawLegend(c *canvas, top float64) float64 {
	for _, row := range legendRows(b.legend) {
		x := margin
		for _, i := range row {
			c.mark(i, x+6, top)
			c.text(labelFace, c.theme.quiet, start, x+17, top+5, b.legend[i])
			x += labelFace.measure(b.legend[i]) + 40
		}
		top += 22
	}
	return top
}
