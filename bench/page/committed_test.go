package page

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/wherryhq/wherry/bench/rendered"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the committed pages")

// TestCommittedPages holds that the committed pages are those of the committed document, byte by byte. While there is no
// document they say so; once they show one, it must be there.
func TestCommittedPages(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	files, err := FromFile(filepath.Join(root, filepath.FromSlash(Source)))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, filepath.FromSlash(Folder))
	if *rewrite {
		if err := rendered.Write(dir, files); err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := rendered.Check(dir, files, ".md")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range wrong {
		t.Errorf("%s (make them again with wherry bench page)", line)
	}
}
