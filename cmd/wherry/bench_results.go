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
	"github.com/wherryhq/wherry/bench/quantity"
)

// results is a document on its way to its file.
type results struct {
	name     string
	host     document.Host
	document *document.Document
	quick    bool
	quits    *quitter
	// aside is whether the file that is there is moved aside before anything is written.
	aside bool
}

// open reads the document and refuses, before anything is measured, what could not be put into it.
func (m *measuring) open(ctx context.Context, quits *quitter, here document.Host, tasks []task) (*results, error) {
	r := &results{name: m.Out, host: here, quick: m.Quick, quits: quits, aside: m.Fresh, document: document.New(here)}
	if !m.Fresh {
		d, err := readResults(m.Out)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("%w\nnothing is written into it: write to another file (--out), or begin a new document (--fresh)", err)
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
		return fmt.Errorf("%s has %s of %s, and %d of them are not measured now: they would be lost."+
			" Write to another file (--out), or begin a new document (--fresh)", r.name, quantity.Count(len(old.Rows), "cell"), t.name(), lost)
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
	return r.settle(ctx, s, t, part, err, meter.over)
}

// settle writes what came of a task after so many runs, and says what is missing. err is that of the task.
func (r *results) settle(ctx context.Context, s streams, t *task, part *document.Part, err error, runs int) int {
	rows := part.Rows
	missing, failed := unfinished(rows)
	if len(rows) == len(missing) {
		return fail(s, fmt.Errorf("%s: nothing is written: %s", t.name(), r.nothing(ctx, err, runs)))
	}
	into, why := r.name, "interrupted"
	if ctx.Err() == nil {
		why = "incomplete"
	}
	lost := unlearned(r.part(t), slices.Concat(missing, unrun(rows)))
	if lost > 0 {
		aside, failed := r.keepAside(t, part, why)
		if failed != nil {
			return fail(s, failed)
		}
		into = aside
		fmt.Fprintf(s.errs, "%s of %s stays as it was, since it has what was not measured again (%s): what was measured now is kept aside\n",
			t.name(), r.name, quantity.Count(lost, "cell"))
	} else if err := r.write(s, t, part); err != nil {
		return fail(s, err)
	}
	for _, cell := range missing {
		fmt.Fprintf(s.errs, "missing: %s\n", cell)
	}
	for _, line := range failed {
		fmt.Fprintf(s.errs, "failed: %s\n", line)
	}
	fmt.Fprintf(s.out, "%s is in %s: %s, %d without a value; see them with: wherry bench show %s\n",
		t.name(), into, quantity.Count(len(rows), "cell"), without(rows), into)
	switch {
	case ctx.Err() != nil:
		return statusInterrupted
	case err != nil:
		return fail(s, err)
	case len(failed) > 0 || len(missing) > 0 || lost > 0:
		return statusFailed
	}
	return 0
}

// nothing says why there is no row to write.
func (r *results) nothing(ctx context.Context, err error, runs int) string {
	switch {
	case ctx.Err() != nil && runs > 0:
		return fmt.Sprintf("interrupted after %s, and no cell had all of its runs; what each came to is in %s",
			quantity.Count(runs, "run"), logName(r.name))
	case ctx.Err() != nil:
		return "interrupted before the first run was over"
	case err != nil:
		return err.Error()
	}
	return "nothing was measured"
}

// unlearned is how many cells a part knows something of, a value or a failure, that were left out this time.
func unlearned(old *document.Part, missing []document.Cell) int {
	n := 0
	for _, cell := range missing {
		if row := old.Row(cell); row != nil && (row.NotShown == nil || row.NotShown.Code != document.NotMeasured) {
			n++
		}
	}
	return n
}

// unrun are the cells of subjects of which nothing was run, as without the tools that they are built by. What an interrupt left is
// not among them.
func unrun(rows []document.Row) []document.Cell {
	ran := map[string]bool{}
	for i := range rows {
		reason := rows[i].NotShown
		ran[rows[i].Subject] = ran[rows[i].Subject] || reason == nil || reason.Code != document.NotMeasured && reason.Code != document.Unsupported
	}
	var cells []document.Cell
	for i := range rows {
		reason := rows[i].NotShown
		if !ran[rows[i].Subject] && reason.Code == document.NotMeasured && reason.Text != document.Interrupted {
			cells = append(cells, rows[i].Cell)
		}
	}
	return cells
}

// keepAside writes a part that an interrupt cut short, or whose subjects could not all be run, into a document of its own, beside
// the one in which it would take the place of a part that knows more. Its name says why. It returns that document's name.
func (r *results) keepAside(t *task, part *document.Part, why string) (string, error) {
	extension := filepath.Ext(r.name)
	aside := results{
		name:     strings.TrimSuffix(r.name, extension) + "." + why + time.Now().UTC().Format("-20060102T150405Z") + extension,
		host:     r.host,
		document: document.New(r.host),
		quits:    r.quits,
		aside:    true, // Nothing that has that name is written over.
	}
	return aside.name, aside.write(streams{errs: io.Discard}, t, part)
}

// write merges a part and writes the document. What cannot be written is kept elsewhere.
func (r *results) write(s streams, t *task, part *document.Part) error {
	if err := r.document.Merge(r.host, t.backend, t.part, part); err != nil {
		return err
	}
	if invalid, ok := errors.AsType[*document.InvalidError](r.document.Validate()); ok {
		return r.rescue(fmt.Errorf("what was measured is not valid, which is a mistake of the benchmark:\n%w", invalid))
	}
	if err := r.quits.whole(func() error { return r.replace(s) }); err != nil {
		return r.rescue(err)
	}
	return nil
}

// replace writes the document into its file.
func (r *results) replace(s streams) error {
	if r.aside {
		moved, err := document.MoveAside(r.name, time.Now())
		if err != nil {
			return err
		}
		if moved != "" {
			fmt.Fprintf(s.errs, "the old document is %s now\n", moved)
		}
		r.aside = false
	}
	return document.WriteFile(r.name, r.document)
}

// rescue keeps what took long to measure and cannot be where it belongs: beside it, or else where temporary files are.
func (r *results) rescue(why error) error {
	return r.quits.whole(func() error { return r.rescued(why) })
}

func (r *results) rescued(why error) error {
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
	if err == nil && info.Mode().Perm()&0o222 == 0 {
		return fmt.Errorf("cannot write %s: it is read-only; name another (--out)", name)
	}
	if _, err := os.Stat(filepath.Dir(name)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no folder %s: make it, or name another file (--out)", filepath.Dir(name))
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", name, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
