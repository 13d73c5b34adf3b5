package charts

import (
	"strconv"
	"strings"
)

// A Family is a question that charts answer.
type Family struct {
	Name  string // as in the names of files
	Title string
	Text  string // what its charts compare, and how to read them
}

// A Figure is one chart, as a picture and as a table of the same numbers.
type Figure struct {
	Name     string // of its files, which add "-light.svg" or "-dark.svg"
	Family   string
	Title    string   // what is compared
	Sub      string   // under which conditions
	Caption  string   // where the numbers come from
	Table    Table    // empty where there are no numbers
	Notes    []string // cells without a value, each with its reason, and deviations
	Findings []string // sentences about the numbers, rounded outward
	Refusal  string   // why there is no picture; empty where there is one

	body body
}

// Light and Dark are the names of the files of the picture.
func (f *Figure) Light() string { return f.Name + "-light.svg" }

// Dark is the name of the picture for dark pages.
func (f *Figure) Dark() string { return f.Name + "-dark.svg" }

// A body is what stands between the title and the caption.
type body interface {
	height() float64
	draw(c *canvas, top float64)
}

// shownNotes is how many notes stand in the picture. The table has them all.
const shownNotes = 4

// draw draws the figure in one theme.
func (f *Figure) draw(t *theme) ([]byte, error) {
	most := width - 2*margin
	title, sub := titleFace.wrap(f.Title, most), subFace.wrap(f.Sub, most)
	caption := captionFace.wrap(f.Caption, most)
	notes := f.noteLines(most)
	content := f.body
	if f.Refusal != "" {
		notes, content = nil, &refusal{lines: labelFace.wrap(f.Refusal, most-40)}
	}
	height := 16 + float64(len(title))*titleFace.leading() + float64(len(sub))*subFace.leading() + 8 +
		content.height() + float64(len(notes)+len(caption))*captionFace.leading() + 26
	if len(notes) > 0 {
		height += 8
	}
	c := newCanvas(height, t)
	y := 12.0
	for _, line := range title {
		y += titleFace.leading()
		c.text(titleFace, t.ink, start, margin, y-4, line)
	}
	for _, line := range sub {
		y += subFace.leading()
		c.text(subFace, t.quiet, start, margin, y-2, line)
	}
	y += 8
	content.draw(c, y)
	y += content.height()
	for _, line := range notes {
		y += captionFace.leading()
		colour := t.quiet
		if line.missing {
			colour = t.accent
		}
		c.text(captionFace, colour, start, margin, y, line.text)
	}
	if len(notes) > 0 {
		y += 8
	}
	y += 6
	if len(caption) > 0 {
		c.line(stroke{colour: t.grid, width: 1}, margin, y, width-margin, y)
	}
	for _, line := range caption {
		y += captionFace.leading()
		c.text(captionFace, t.quiet, start, margin, y, line)
	}
	return c.bytes(f.Title, f.Alt())
}

// A noteLine is a line of a note.
type noteLine struct {
	text    string
	missing bool // it is about cells without a value
}

// noteLines are the first notes, wrapped, and how many more there are.
func (f *Figure) noteLines(most float64) []noteLine {
	var wrapped []noteLine
	for i, note := range f.Notes {
		if i == shownNotes && len(f.Notes) > shownNotes+1 {
			more := strconv.Itoa(len(f.Notes) - shownNotes)
			return append(wrapped, noteLine{"And " + more + " more notes, under the table.", true})
		}
		for _, line := range captionFace.wrap(note, most) {
			wrapped = append(wrapped, noteLine{line, strings.HasPrefix(note, "n/s")})
		}
	}
	return wrapped
}

// Alt says in a sentence or two what the picture shows, for those who do not see it.
func (f *Figure) Alt() string {
	if f.Refusal != "" {
		return f.Title + ". Not drawn: " + f.Refusal
	}
	return strings.TrimSuffix(f.Title, ".") + ". " + f.Sub + " The table has the same numbers."
}

// A refusal is the body of a chart that its data cannot support.
type refusal struct{ lines []string }

func (r *refusal) height() float64 { return 92 + float64(len(r.lines))*labelFace.leading() }

func (r *refusal) draw(c *canvas, top float64) {
	h := r.height() - 16
	c.box(margin, top, width-2*margin, h, c.theme.grid)
	c.box(margin+1, top+1, width-2*margin-2, h-2, c.theme.ground)
	c.box(margin, top, 5, h, c.theme.accent)
	c.text(strongFace, c.theme.accent, start, margin+22, top+34, "Not drawn")
	for i, line := range r.lines {
		c.text(labelFace, c.theme.ink, start, margin+22, top+60+float64(i)*labelFace.leading(), line)
	}
}
