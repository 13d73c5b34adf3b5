package charts

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wherryhq/wherry/bench/charts/sample"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/rendered"
)

// rewrite makes the test write what it otherwise compares. preview names a folder for all pictures, for a look at them.
var (
	rewrite = flag.Bool("rewrite", false, "rewrite the golden pictures")
	preview = flag.String("preview", "", "write every picture of the sample to this folder")
)

// golden are pictures of each kind: lines, a logarithmic scale, bars, marks, quantiles and a refusal.
var golden = []string{
	"mem-consumers-64-light.svg", "mem-payload-dark.svg", "mem-code-bytesview-light.svg", "mem-batch-dark.svg",
	"latency-light.svg", "mem-overhead-light.svg", "mem-ratio-go-channel-2p-light.svg",
}

func TestDrawGolden(t *testing.T) {
	t.Parallel()
	files := sampleDrawn(t)
	if *preview != "" {
		if err := rendered.Write(*preview, files); err != nil {
			t.Fatal(err)
		}
	}
	var chosen []File
	for _, name := range golden {
		chosen = append(chosen, File{Name: name, Data: file(t, files, name)})
	}
	dir := filepath.Join("testdata", "golden")
	if *rewrite {
		if err := rendered.Write(dir, chosen); err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := rendered.Check(dir, chosen, ".svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range wrong {
		t.Errorf("%s (look at the picture, then run the test with -rewrite)", line)
	}
}

func TestDrawTwiceTheSame(t *testing.T) {
	t.Parallel()
	one, other := sampleDrawn(t), drawn(t, sample.Document())
	for i := range one {
		if one[i].Name != other[i].Name || !bytes.Equal(one[i].Data, other[i].Data) {
			t.Errorf("%s differs from one drawing to the next", one[i].Name)
		}
	}
}

func TestDrawNothingOverlaps(t *testing.T) {
	t.Parallel()
	for _, f := range sampleDrawn(t) {
		legible(t, f)
	}
}

// legible holds that every text of a picture is within it, and on no other text.
func legible(t *testing.T, f File) {
	t.Helper()
	texts, height := textsOf(t, f)
	if len(texts) < 2 {
		t.Errorf("%s: has %d texts, want a title and more", f.Name, len(texts))
	}
	for i, a := range texts {
		if a.left < 2 || a.right > width-2 || a.top < 0 || a.bottom > height {
			t.Errorf("%s: %q is cut: it reaches from %.0f,%.0f to %.0f,%.0f", f.Name, a.text, a.left, a.top, a.right, a.bottom)
		}
		for _, b := range texts[:i] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%s: %q and %q overlap", f.Name, b.text, a.text)
			}
		}
	}
}

func TestFiguresHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	d.Backends = append(d.Backends, d.Backends[0])
	seen := map[string]bool{}
	for _, f := range Figures(d) {
		if seen[f.Name] {
			t.Errorf("two figures are called %s", f.Name)
		}
		seen[f.Name] = true
	}
	for i, f := range Figures(sample.Document()) {
		files := sampleDrawn(t)
		if files[2*i].Name != f.Light() || files[2*i+1].Name != f.Dark() {
			t.Errorf("%s is drawn as %s and %s", f.Name, files[2*i].Name, files[2*i+1].Name)
		}
	}
	if !seen["mem-payload"] || !seen["mem-payload-2"] {
		t.Error("the second of two figures of one name is not numbered")
	}
}

// ofSample are the pictures of the sample, drawn once.
var ofSample = sync.OnceValues(func() ([]File, error) { return Draw(sample.Document()) })

func sampleDrawn(t *testing.T) []File {
	t.Helper()
	files, err := ofSample()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func drawn(t *testing.T, d *document.Document) []File {
	t.Helper()
	files, err := Draw(d)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func file(t *testing.T, files []File, name string) []byte {
	t.Helper()
	for _, f := range files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("no picture is called %s", name)
	return nil
}

// A placed text is a text of a picture and the room that it takes.
type placed struct {
	text                     string
	left, right, top, bottom float64
}

// textsOf reads the texts of a picture, which must be XML.
func textsOf(t *testing.T, f File) (texts []placed, height float64) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(f.Data))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return texts, height
		}
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		attr := map[string]string{}
		for _, a := range element.Attr {
			attr[a.Name.Local] = a.Value
		}
		switch element.Name.Local {
		case "svg":
			height = number(t, attr["height"])
		case "text":
			var s string
			if err := decoder.DecodeElement(&s, &element); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			texts = append(texts, place(t, s, attr, height))
		}
	}
}

func place(t *testing.T, s string, attr map[string]string, height float64) placed {
	t.Helper()
	face := typeface{bold: strings.Contains(attr["style"], "font-weight:bold")}
	_, after, _ := strings.Cut(attr["style"], "font-size:")
	points, _, _ := strings.Cut(after, "px")
	face.size = number(t, points)
	x, y := number(t, attr["x"]), height+number(t, attr["y"])
	if got, want := number(t, attr["textLength"]), face.measure(s); math.Abs(got-want) > 0.06 || attr["lengthAdjust"] != "spacingAndGlyphs" {
		t.Errorf("%q is fitted to %v by %q, want its width of %v", s, got, attr["lengthAdjust"], want)
	}
	return placed{text: s, left: x, right: x + face.measure(s), top: y - face.size*0.72, bottom: y + face.size*0.2}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
