// Package charts draws a results document as pictures, light and dark, each with its table, and nothing else than what the
// document says: the same document gives the same bytes on every machine. What a document cannot support is drawn as a
// refusal that says why.
package charts

import (
	"fmt"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/rendered"
)

// A File is a picture, as SVG.
type File = rendered.File

// Draw draws every figure of a document in each theme, in the order of [Figures]. The document must have been read by
// [document.ReadFile] or derived.
func Draw(d *document.Document) ([]File, error) {
	figures := Figures(d)
	files := make([]File, 0, 2*len(figures))
	for i := range figures {
		f := &figures[i]
		for _, t := range []*theme{&light, &dark} {
			data, err := f.draw(t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
			files = append(files, File{Name: f.Name + "-" + t.name + ".svg", Data: data})
		}
	}
	return files, nil
}
