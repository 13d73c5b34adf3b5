package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
)

// results is a document on its way to its file.
type results struct {
	name     string
	host     document.Host
	document *document.Document
	quick    bool
	// aside is whether the file that is there is moved aside before anything is written.
	aside bool
}

// open reads the document and refuses, before anything is measured, what could not be put into it.
func (m *measuring) open(ctx context.Context, here document.Host, tasks []task) (*results, error) {
	r := &results{name: m.Out, host: here, quick: m.Quick, aside: m.Fresh, document: document.New(here)}
	if !m.Fresh {
		d, err := readResults(m.Out)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("%w\nrepair it, write to another file (--out), or begin a new document (--fresh)", err)
		default:
			r.document = d
		}
	}
	for i := range tasks {
		if err := r.fits(ctx, &tasks[i]); err != nil {
			return nil, err
		}
	}
	return r, r.document.Validate()
}

// fits refuses a part that is of another host or build, or that would take the place of one with more cells.
func (r *results) fits(ctx context.Context, t *task) error {
	t.origin.Quick, t.origin.Results = r.quick, r.name
	if err := r.document.Mergeable(r.host, host.Here().Provenance(ctx, t.origin, time.Now())); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	old := r.part(t)
	if old == nil {
		return nil
	}
	lost := 0
	for i := range old.Rows {
		if !slices.Contains(t.cells, old.Rows[i].Cell) {
			lost++
		}
	}
	if lost > 0 {
		return fmt.Errorf("%s has %d cells of %s, and %d of them are not measured now: they would be lost."+
			" Write to another file (--out), or begin a new document (--fresh)", r.name, len(old.Rows), t.name(), lost)
	}
	return nil
}

func (r *results) part(t *task) *document.Part {
	if b := r.document.Backend(t.backend); b != nil {
		return b.Part(t.part)
	}
	return nil
}

// measure runs one task and writes what came of it.
func (r *results) measure(ctx context.Context, s streams, log io.Writer, t *task) int {
	part := &document.Part{
		Provenance: host.Here().Provenance(ctx, t.origin, time.Now()),
		Ratios:     t.ratios,
	}
	meter := newMeters(ctx, s.errs, log)
	rows, err := t.run(ctx, meter)
	meter.close()
	part.Rows = rows
	part.Void()
	missing, failed := unfinished(rows)
	if len(rows) == len(missing) {
		return fail(s, fmt.Errorf("%s: nothing was measured, and nothing is written%s", t.name(), because(ctx, err)))
	}
	if len(missing) > 0 && r.part(t) != nil {
		r.aside = true // It has what is missing now.
	}
	if err := r.write(s, t, part); err != nil {
		return fail(s, err)
	}
	for _, cell := range missing {
		fmt.Fprintf(s.errs, "missing: %s\n", cell)
	}
	for _, line := range failed {
		fmt.Fprintf(s.errs, "failed: %s\n", line)
	}
	fmt.Fprintf(s.out, "%s is in %s: %d cells, %d of them without a value; see them with: wherry bench show %s\n",
		t.name(), r.name, len(rows), without(rows), r.name)
	switch {
	case ctx.Err() != nil:
		return statusInterrupted
	case err != nil:
		return fail(s, err)
	case len(failed) > 0:
		return statusFailed
	}
	return 0
}

// write merges a part and writes the document. What cannot be written is kept elsewhere.
func (r *results) write(s streams, t *task, part *document.Part) error {
	if err := r.document.Merge(r.host, t.backend, t.part, part); err != nil {
		return err
	}
	if invalid, ok := errors.AsType[*document.InvalidError](r.document.Validate()); ok {
		return r.rescue(fmt.Errorf("what was measured is not valid, which is a mistake of the benchmark:\n%w", invalid))
	}
	if r.aside {
		moved, err := document.MoveAside(r.name, time.Now())
		if err != nil {
			return r.rescue(err)
		}
		if moved != "" {
			fmt.Fprintf(s.errs, "the old document is %s now\n", moved)
		}
		r.aside = false
	}
	if err := document.WriteFile(r.name, r.document); err != nil {
		return r.rescue(err)
	}
	return nil
}

// rescue keeps what took long to measure and cannot be where it belongs: beside it, or else where temporary files are.
func (r *results) rescue(why error) error {
	data, err := document.Encode(r.document)
	if err != nil {
		return errors.Join(why, err)
	}
	pattern := strings.TrimSuffix(filepath.Base(r.name), filepath.Ext(r.name)) + ".rescued-*.json"
	for _, dir := range []string{filepath.Dir(r.name), os.TempDir()} {
		f, tried := os.CreateTemp(dir, pattern)
		if tried == nil {
			_, tried = f.Write(data)
			if tried = errors.Join(tried, f.Close()); tried == nil {
				return fmt.Errorf("%w\nwhat was measured is kept as %s", why, f.Name())
			}
			_ = os.Remove(f.Name()) // It is not whole.
		}
		err = errors.Join(err, tried)
	}
	return fmt.Errorf("%w\nwhat was measured is lost: %w", why, err)
}

// writable refuses, before anything is measured, a name that no document can be written to.
func writable(name string) error {
	if name == "" {
		return errors.New("the results document has no name: give it one (--out)")
	}
	if filepath.Ext(name) == logExtension {
		return fmt.Errorf("%s is the name of the log that is kept beside a document: give the document another one (--out)", name)
	}
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("cannot write %s: it is no regular file; name one (--out)", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
