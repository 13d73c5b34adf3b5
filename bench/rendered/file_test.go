package rendered

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWriteThenCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []File{{Name: "a.md", Data: []byte("one\ntwo\n")}, {Name: "charts/b.svg", Data: []byte("<svg/>\n")}}
	if err := Write(dir, files); err != nil {
		t.Fatal(err)
	}
	wrong, err := Check(dir, files, ".md")
	if err != nil || len(wrong) > 0 {
		t.Errorf("checking what was just written: %q, %v, want nothing", wrong, err)
	}
}

func TestCheckSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"same.md": "a\n", "changed.md": "a\nB\n", "longer.md": "a\nb\nc\n", "stray.md": "old\n", "other.txt": "not ours\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wrong, err := Check(dir, []File{
		{Name: "same.md", Data: []byte("a\n")},
		{Name: "changed.md", Data: []byte("a\nb\n")},
		{Name: "longer.md", Data: []byte("a\nb\n")},
		{Name: "absent.md", Data: []byte("a\n")},
	}, ".md")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"changed.md: differs from line 2 on",
		"longer.md: differs from line 3 on",
		"absent.md: is missing",
		"stray.md: is not made from the document, remove it",
	}
	if !slices.Equal(wrong, want) {
		t.Errorf("Check = %q, want %q", wrong, want)
	}
}

func TestCheckOfNoFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	wrong, err := Check(dir, []File{{Name: "a.md"}}, ".md")
	if err != nil || !slices.Equal(wrong, []string{"a.md: is missing"}) {
		t.Errorf("Check of a folder that is not there = %q, %v, want the file missing", wrong, err)
	}
}

func TestWriteWhereNothingCanBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, []File{{Name: "a.md"}}); err == nil {
		t.Error("writing below a file succeeded, want an error")
	}
	if _, err := Check(file, []File{{Name: "a.md"}}); err == nil {
		t.Error("checking below a file succeeded, want an error")
	}
}
