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

	"github.com/charmbracelet/x/term"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/progress"
)

// measuring is what all commands that measure are told.
type measuring struct {
	Out    string `help:"The results document. Default results.json." default:"results.json" placeholder:"FILE"`
	Fresh  bool   `help:"Begin a new document. The old one is moved aside, with the time in its name."`
	Only   string `help:"Measure these cells only, such as 'flow=parallel payload=64 consumers=1,2'." placeholder:"WHICH"`
	Quick  bool   `help:"Measure each cell once and shortly. What comes of it is no result, and says so."`
	DryRun bool   `help:"Show what would be measured, and how long it would take."`
}

// A task is a part to be measured.
type task struct {
	backend string
	part    string
	cells   []document.Cell
	origin  host.Part
	list    func(w io.Writer) error
	run     func(ctx context.Context, meter progress.Meter) ([]document.Row, error)
	ratios  []document.Ratio
}

func (t *task) name() string { return t.backend + "/" + t.part }

// words are those of a text, between blanks or commas.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
}

// measure runs tasks and writes their rows into the document.
func (m *measuring) measure(ctx context.Context, s streams, tasks []task) int {
	if m.DryRun {
		for i := range tasks {
			fmt.Fprintf(s.out, "%s\n", tasks[i].name())
			if err := tasks[i].list(s.out); err != nil {
				return fail(s, err)
			}
		}
		return 0
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	here := host.Here().Host(ctx)
	book, err := m.open(ctx, here, tasks)
	if err != nil {
		return fail(s, err)
	}
	log, err := m.log(tasks)
	if err != nil {
		return fail(s, err)
	}
	defer func() { _ = log.Close() }()
	status := 0
	for i := range tasks {
		status = max(status, book.measure(ctx, s, log, &tasks[i]))
		if ctx.Err() != nil {
			for j := range tasks[i+1:] {
				fmt.Fprintf(s.errs, "missing: all of %s\n", tasks[i+1+j].name())
			}
			return statusInterrupted
		}
	}
	return status
}

// log opens the log, which is kept beside the document.
func (m *measuring) log(tasks []task) (*os.File, error) {
	name := strings.TrimSuffix(m.Out, filepath.Ext(m.Out)) + ".log"
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // The user names the file, for everybody to read.
	if err != nil {
		return nil, fmt.Errorf("cannot write the log beside the results: %w", err)
	}
	for i := range tasks {
		fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format(time.RFC3339), tasks[i].name())
	}
	return f, nil
}

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
	if _, err := os.Stat(filepath.Dir(m.Out)); err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", m.Out, err)
	}
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

// write merges a part and writes the document.
func (r *results) write(s streams, t *task, part *document.Part) error {
	if err := r.document.Merge(r.host, t.backend, t.part, part); err != nil {
		return err
	}
	if r.aside && r.document.Validate() == nil {
		moved, err := document.MoveAside(r.name, time.Now())
		if err != nil {
			return err
		}
		if moved != "" {
			fmt.Fprintf(s.errs, "the old document is %s now\n", moved)
		}
		r.aside = false
	}
	err := document.WriteFile(r.name, r.document)
	if invalid, ok := errors.AsType[*document.InvalidError](err); ok {
		return r.rescue(invalid)
	}
	return err
}

// rescue keeps what took long to measure, for whoever looks into why it is not valid.
func (r *results) rescue(invalid error) error {
	name := strings.TrimSuffix(r.name, filepath.Ext(r.name)) + ".invalid.json"
	data, err := document.Encode(r.document)
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	return errors.Join(fmt.Errorf("what was measured is not valid, which is a mistake of the benchmark; it is kept as %s:\n%w", name, invalid), err)
}

// unfinished are the cells that an interrupt left, and lines for those that failed.
func unfinished(rows []document.Row) (missing []document.Cell, failed []string) {
	for i := range rows {
		switch reason := rows[i].NotShown; {
		case reason == nil:
		case reason.Code == document.NotMeasured && reason.Text == document.Interrupted:
			missing = append(missing, rows[i].Cell)
		case reason.Code == document.Failed:
			failed = append(failed, fmt.Sprintf("%s: %s", rows[i].Cell, reason.Text))
		}
	}
	return missing, failed
}

// without is how many rows have no value.
func without(rows []document.Row) int {
	n := 0
	for i := range rows {
		if rows[i].NotShown != nil {
			n++
		}
	}
	return n
}

func because(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil:
		return ": " + document.Interrupted
	case err != nil:
		return ": " + err.Error()
	}
	return ""
}

// columns is the width of the terminal that a stream is, or zero.
func columns(stream io.Writer) int {
	f, ok := stream.(*os.File)
	if !ok || !isTerminal(f) || os.Getenv("TERM") == "dumb" {
		return 0
	}
	width, _, err := term.GetSize(f.Fd())
	if err != nil {
		return 0
	}
	return width
}

// meters are the display of who waits, and the log. They say nothing of what is not measured after an interrupt.
type meters struct {
	ctx  context.Context //nolint:containedctx // The interrupt that ends the context is what the methods ask for.
	each [2]*progress.Display
}

func newMeters(ctx context.Context, errs, log io.Writer) meters {
	return meters{ctx, [2]*progress.Display{progress.NewDisplay(errs, columns(errs)), progress.NewDisplay(log, 0)}}
}

// Plan implements progress.Meter.
func (m meters) Plan(steps []progress.Step) {
	for _, d := range m.each {
		d.Plan(steps)
	}
}

// Begin implements progress.Meter.
func (m meters) Begin(name string) {
	if m.ctx.Err() != nil {
		return
	}
	for _, d := range m.each {
		d.Begin(name)
	}
}

// End implements progress.Meter.
func (m meters) End(result string) {
	if m.ctx.Err() != nil {
		return
	}
	for _, d := range m.each {
		d.End(result)
	}
}

func (m meters) close() {
	for _, d := range m.each {
		d.Close()
	}
}
