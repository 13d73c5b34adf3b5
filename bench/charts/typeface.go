package charts

import (
	"fmt"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// A typeface is a size and a weight of the one family in use.
type typeface struct {
	size float64
	bold bool
}

var (
	titleFace   = typeface{size: 19, bold: true}
	subFace     = typeface{size: 14.5}
	labelFace   = typeface{size: 14}
	strongFace  = typeface{size: 14, bold: true}
	captionFace = typeface{size: 12.5}
)

// An anchor is the part of a text that stands at its place.
type anchor int

const (
	start anchor = iota
	middle
	end
)

// fonts are parsed once. They are part of the program and known to parse, which a test sees to.
var fonts = sync.OnceValues(func() (regular, bold *opentype.Font) {
	return parsed(liberationsansregular.TTF), parsed(liberationsansbold.TTF)
})

func parsed(data []byte) *opentype.Font {
	f, err := opentype.Parse(data)
	if err != nil {
		panic(fmt.Sprintf("charts: a font of the program does not parse: %v", err)) //nolint:forbidigo // It cannot happen.
	}
	return f
}

func (f typeface) face() font.Face {
	regular, bold := fonts()
	face := font.Face{Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(f.size)}, Face: regular}
	if f.bold {
		face.Font.Weight, face.Face = xfont.WeightBold, bold
	}
	return face
}

// measure is the width of a text.
func (f typeface) measure(s string) float64 {
	face := f.face()
	return face.Width(s).Points()
}

// leading is the distance between two lines.
func (f typeface) leading() float64 { return f.size * 1.3 }

// wrap breaks a text into lines of at most a width. A word that is longer stands alone.
func (f typeface) wrap(s string, most float64) []string {
	var lines []string
	var line string
	for word := range strings.FieldsSeq(s) {
		longer := strings.TrimPrefix(line+" "+word, " ")
		if line != "" && f.measure(longer) > most {
			lines = append(lines, line)
			longer = word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fit shortens a text to a width, with an ellipsis.
func (f typeface) fit(s string, most float64) string {
	if f.measure(s) <= most {
		return s
	}
	runes := []rune(s)
	for len(runes) > 0 && f.measure(string(runes)+"…") > most {
		runes = runes[:len(runes)-1]
	}
	return strings.TrimSpace(string(runes)) + "…"
}
