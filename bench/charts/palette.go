package charts

import "image/color" //nolint:misspell // The package is called so.

// A paint is what a line, a surface or a text is drawn in.
type paint = color.Color //nolint:misspell // The type is called so.

// A theme is the colours of one variant of a chart. They keep their distance for readers who see few colours, and lines
// differ in the shape of their marks too.
type theme struct {
	name   string
	ground paint
	ink    paint // titles, values
	quiet  paint // labels of axes, captions
	grid   paint
	accent paint // of a reference line and a refusal
	series []paint
}

// Wherry is always the first colour.
const wherryColour = 0

var (
	light = theme{
		name:   "light",
		ground: rgb(0xffffff),
		ink:    rgb(0x1f2328),
		quiet:  rgb(0x59636e),
		grid:   rgb(0xe4e8ed),
		accent: rgb(0x9a6700),
		series: []paint{
			rgb(0x0969da), rgb(0xbc4c00), rgb(0x1a7f64), rgb(0x8250df),
			rgb(0x9a6700), rgb(0xbf3989), rgb(0x57606a), rgb(0x0e7490),
		},
	}
	dark = theme{
		name:   "dark",
		ground: rgb(0x0d1117),
		ink:    rgb(0xe6edf3),
		quiet:  rgb(0x9198a1),
		grid:   rgb(0x262c36),
		accent: rgb(0xd29922),
		series: []paint{
			rgb(0x58a6ff), rgb(0xf0883e), rgb(0x3fb68b), rgb(0xbc8cff),
			rgb(0xd9a520), rgb(0xf778ba), rgb(0x9aa4af), rgb(0x39c5cf),
		},
	}
)

func rgb(v uint32) paint {
	//nolint:misspell // The type is called so.
	return color.NRGBA{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v), A: 0xff}
}

func (t *theme) colour(i int) paint { return t.series[i%len(t.series)] }
