// Package rendered is files that are made from a results document, and the comparison of what is committed with what the
// document says now.
package rendered

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// A File is a file that a document determines, byte by byte.
type File struct {
	Name string // relative to the folder that it is written to, with slashes
	Data []byte
}

// Write writes files below a folder, which it makes. It overwrites what has the same name and leaves the rest.
func Write(dir string, files []File) error {
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // Pages are read by everybody.
			return err
		}
		if err := os.WriteFile(name, f.Data, 0o644); err != nil { //nolint:gosec // Pages are read by everybody.
			return err
		}
	}
	return nil
}

// Check compares files with those below a folder, byte by byte. Each line of the result names a file and says what is
// wrong with it: missing, different from a line on, or not made from the document although it has one of the extensions.
// No line means that the folder is as the document says. The error is that of reading.
func Check(dir string, files []File, extensions ...string) ([]string, error) {
	var wrong []string
	known := map[string]bool{}
	for _, f := range files {
		known[f.Name] = true
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			wrong = append(wrong, f.Name+": is missing")
		case err != nil:
			return nil, err
		case !bytes.Equal(got, f.Data):
			wrong = append(wrong, fmt.Sprintf("%s: differs from line %d on", f.Name, firstDifference(got, f.Data)))
		}
	}
	strays, err := strays(dir, known, extensions)
	return append(wrong, strays...), err
}

// firstDifference is the number of the first line that differs.
func firstDifference(a, b []byte) int {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return line
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}

// strays are files right in a folder that have one of the extensions and are not known.
func strays(dir string, known map[string]bool, extensions []string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var found []string
	for _, e := range entries {
		if !known[e.Name()] && slices.Contains(extensions, filepath.Ext(e.Name())) {
			found = append(found, e.Name()+": is not made from the document, remove it")
		}
	}
	return found, err
}
