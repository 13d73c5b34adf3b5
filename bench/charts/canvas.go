package charts

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// width is that of every chart, in the units of its fonts. It is small beside them, so that a chart can still be read when
// it is shown 400 pixels wide.
const width = 600.0

// A canvas draws a chart with its origin at the top left. Nothing on it depends on the machine: text is measured with
// fonts that are part of the program.
type canvas struct {
	svg    *vgsvg.Canvas
	draw   draw.Canvas
	height float64
	theme  *theme
	widths []float64 // of the texts, in the order in which they were written
}

func newCanvas(height float64, t *theme) *canvas {
	height = math.Ceil(height)
	svg := vgsvg.New(vg.Length(width), vg.Length(height))
	c := &canvas{svg: svg, draw: draw.New(svg), height: height, theme: t}
	c.box(0, 0, width, height, t.ground)
	return c
}

// at is a point of the canvas, to a twentieth, so that no machine's last bit shows.
func (c *canvas) at(x, y float64) vg.Point {
	return vg.Point{X: vg.Length(tidy(x)), Y: vg.Length(tidy(c.height - y))}
}

func tidy(v float64) float64 { return math.Round(v*20) / 20 }

// box fills a rectangle.
func (c *canvas) box(x, y, w, h float64, fill paint) {
	c.polygon(fill, x, y, x+w, y, x+w, y+h, x, y+h)
}

// A stroke is how a line looks.
type stroke struct {
	colour paint
	width  float64
	dashed bool
}

// line draws straight lines from point to point, given as x and y in turn.
func (c *canvas) line(s stroke, xy ...float64) {
	style := draw.LineStyle{Color: s.colour, Width: vg.Length(s.width)} //nolint:misspell // The field is called so.
	if s.dashed {
		style.Dashes = []vg.Length{5, 4}
	}
	points := make([]vg.Point, 0, len(xy)/2)
	for i := 0; i+1 < len(xy); i += 2 {
		points = append(points, c.at(xy[i], xy[i+1]))
	}
	c.draw.StrokeLines(style, points)
}

// markRadius is about that of every mark.
const markRadius = 4.6

// mark draws the mark of a series: its shape tells series apart where colours do not. A rim in the colour of the ground
// keeps it clear of lines and of other marks.
func (c *canvas) mark(series int, x, y float64) {
	colour, r := c.theme.colour(series), markRadius
	rim := stroke{colour: c.theme.ground, width: 1.5}
	var corners []float64
	switch series % 5 {
	case 0:
		c.disc(x, y, r+0.8, c.theme.ground)
		c.disc(x, y, r, colour)
		return
	case 1:
		r *= 0.9
		corners = []float64{x - r, y - r, x + r, y - r, x + r, y + r, x - r, y + r}
	case 2:
		r *= 1.15
		corners = []float64{x, y - r, x + r, y + r*0.8, x - r, y + r*0.8}
	case 3:
		r *= 1.2
		corners = []float64{x, y - r, x + r, y, x, y + r, x - r, y}
	default:
		c.disc(x, y, r+0.8, colour)
		c.disc(x, y, r-1.4, c.theme.ground)
		return
	}
	c.polygon(colour, corners...)
	c.line(rim, append(corners, corners[0], corners[1])...)
}

// disc fills a circle.
func (c *canvas) disc(x, y, r float64, fill paint) {
	centre := c.at(x, y)
	var path vg.Path
	path.Move(vg.Point{X: centre.X + vg.Length(r), Y: centre.Y})
	path.Arc(centre, vg.Length(r), 0, 2*math.Pi)
	path.Close()
	c.draw.SetColor(fill)
	c.draw.Fill(path)
}

// polygon fills the surface within corners, given as x and y in turn.
func (c *canvas) polygon(fill paint, xy ...float64) {
	points := make([]vg.Point, 0, len(xy)/2)
	for i := 0; i+1 < len(xy); i += 2 {
		points = append(points, c.at(xy[i], xy[i+1]))
	}
	c.draw.FillPolygon(fill, points)
}

// text writes one line with its baseline at y.
func (c *canvas) text(f typeface, colour paint, a anchor, x, y float64, s string) {
	switch a {
	case middle:
		x -= f.measure(s) / 2
	case end:
		x -= f.measure(s)
	case start:
	}
	c.svg.SetColor(colour)
	c.svg.FillString(f.face(), c.at(x, y), s)
	c.widths = append(c.widths, f.measure(s))
}

// fitted has each text of the picture be as wide as it was measured. A viewer without the fonts that are as wide as those of
// the program takes another one, in which a text would be cut or run into its neighbour.
func (c *canvas) fitted(body string) (string, error) {
	const begin = "<text "
	parts := strings.Split(body, begin)
	if len(parts) != len(c.widths)+1 {
		return "", fmt.Errorf("charts: the drawing library wrote %d texts of %d", len(parts)-1, len(c.widths))
	}
	var b strings.Builder
	b.WriteString(parts[0])
	for i, part := range parts[1:] {
		fmt.Fprintf(&b, `%stextLength="%.1f" lengthAdjust="spacingAndGlyphs" %s`, begin, c.widths[i], part)
	}
	return b.String(), nil
}

// bytes ends the picture. What the library writes ahead, and the names of its fonts, give way to what shows the same in
// every viewer, with a title and a description for readers who do not see it.
func (c *canvas) bytes(title, description string) ([]byte, error) {
	var buf bytes.Buffer
	if _, err := c.svg.WriteTo(&buf); err != nil {
		return nil, err
	}
	_, body, found := strings.Cut(buf.String(), `xmlns:xlink="http://www.w3.org/1999/xlink">`)
	if !found {
		return nil, errors.New("charts: the drawing library writes no header that is known here")
	}
	body = strings.NewReplacer(
		"\n\tstyle=", " style=",
		"font-family:Liberation Sans;font-variant:normal;", "",
		"font-family:Liberation Sans;font-variant:none;", "",
		"font-weight:normal;font-style:normal;", "",
		"font-style:normal;", "",
	).Replace(body)
	body, err := c.fitted(body)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img"`+
		` font-family="'Liberation Sans', Arimo, Arial, Helvetica, sans-serif">`+"\n<title>%s</title>\n<desc>%s</desc>",
		width, c.height, width, c.height, html.EscapeString(title), html.EscapeString(description))
	return []byte(head + body), nil
}
