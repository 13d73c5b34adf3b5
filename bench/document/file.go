package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// largest is the most bytes that a document may have. One of all cells has a tenth.
const largest = 16 << 20

// ReadFile reads a document from a file and refuses one that is wrong anywhere, or larger than any. The error of a wrong document is an
// [InvalidError]; that of a missing file, [fs.ErrNotExist].
func ReadFile(name string) (*Document, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("cannot read the results: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, largest+1)) // A device may have no end.
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read the results: %w", err)
	case len(data) > largest:
		return nil, invalid("", "the document has more than %d bytes", largest)
	}
	return Decode(data)
}

// Decode reads a document and refuses one that is wrong anywhere: with a field that is unknown, missing or there twice,
// with a value that cannot be, or with one that does not follow from those it is derived from. The error is an
// [InvalidError] then.
func Decode(data []byte) (*Document, error) {
	n, err := parse(data)
	if err != nil {
		return nil, err
	}
	if err := known(n); err != nil {
		return nil, err
	}
	var found faults
	d := new(Document)
	assign(n, reflect.ValueOf(d).Elem(), &found)
	if err := found.err(); err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	return d, nil
}

// known refuses a schema of which nothing else can be said.
func known(n *node) error {
	if n.kind != object {
		return invalid("", "the document is %s, want %s", n.kind, object)
	}
	switch schema := n.member("schema"); {
	case schema == nil:
		return invalid("schema", "is missing")
	case schema.flat() != strconv.Itoa(Schema):
		return invalid(schema.path, "is %s, and this program knows %d alone", schema.flat(), Schema)
	}
	return nil
}

// Encode writes a document: the same bytes for the same document, which [Decode] reads. It neither derives nor validates.
func Encode(d *Document) ([]byte, error) {
	n, err := tree(d)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	n.print(&b, "", 0)
	b.WriteByte('\n')
	return []byte(b.String()), nil
}

// WriteFile writes a document to a file, or the one that a link points to, whole or not at all. It refuses one that is wrong anywhere, as ReadFile would.
func WriteFile(name string, d *Document) error {
	if err := d.Validate(); err != nil {
		return err
	}
	data, err := Encode(d)
	if err != nil {
		return err
	}
	if linked, err := filepath.EvalSymlinks(name); err == nil {
		name = linked
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("cannot write the results: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("cannot write the results: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// MoveAside renames a document out of the way of a fresh one and returns where it is. The new name has the time, to the
// second, before the extension. Without a file there is nothing to move, and the name is empty.
func MoveAside(name string, at time.Time) (moved string, err error) {
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	extension := filepath.Ext(name)
	moved = strings.TrimSuffix(name, extension) + at.UTC().Format(".20060102T150405Z") + extension
	if _, err := os.Stat(moved); err == nil {
		return "", fmt.Errorf("cannot move %s aside: there is a file %s already", name, moved)
	}
	if err := os.Rename(name, moved); err != nil {
		return "", fmt.Errorf("cannot move %s aside: %w", name, err)
	}
	return moved, nil
}
