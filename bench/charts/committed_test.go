package charts

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/rendered"
)

// TestCommittedCharts holds that the committed pictures are those of the committed document, byte by byte. Without a
// document there may be no picture. It looks at each for text that is cut or lies on other text, too.
func TestCommittedCharts(t *testing.T) {
	t.Parallel()
	d, err := document.ReadFile(filepath.Join("..", "results", "results.json"))
	var files []File
	switch {
	case err == nil:
		files = drawn(t, d)
		for _, f := range files {
			legible(t, f)
		}
	case !errors.Is(err, fs.ErrNotExist):
		t.Fatal(err)
	}
	wrong, err := rendered.Check(filepath.Join("..", "..", "docs", "benchmarks", "charts"), files, ".svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range wrong {
		t.Errorf("%s (draw them again with wherry bench charts)", line)
	}
}
