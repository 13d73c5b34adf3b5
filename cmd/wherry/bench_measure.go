package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/gofrs/flock"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/progress"
)

// measuring is what all commands that measure are told.
type measuring struct {
	Out    string `help:"The results document, beside which its log is kept, with .log for .json. Default results.json." default:"results.json" placeholder:"FILE"`
	Fresh  bool   `help:"Begin a new document. The old one is moved aside, with the time in its name."`
	Only   string `help:"Measure these cells only, such as 'flow=parallel payload=64 consumers=1,2'." placeholder:"WHICH"`
	Quick  bool   `help:"Measure each cell once and shortly. What comes of it is no result, and says so."`
	DryRun bool   `help:"Show what would be measured, and how long it would take."`
}

// keeps is what the help of each command that measures says of its files.
const keeps = `

Beside the document stands its log, of the same name with .log for .json: each run with its figure, and what was refused.

Ctrl-C keeps the cells whose every run was made, and names those that are missing. Where the document has the part
already, and knows something of a cell that is missing now, it stays as it was: what was measured is then in a file
beside it, results.interrupted-TIME.json. So it is where a subject cannot be run that it has values of, as without the tools
to build it: results.incomplete-TIME.json. A second Ctrl-C quits at once: what is in no document yet is lost, and its
figures are in the log.`

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

// tree is the clone whose programs are built, which a dry run does without. It must be the one that this program is of.
func (m *measuring) tree(ctx context.Context) (string, error) {
	if m.DryRun {
		return "", nil
	}
	tree, err := repository()
	if err != nil {
		return "", err
	}
	return tree, host.Here().OfTree(ctx, tree)
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
	ctx, quits, stop := interruptible(ctx, s)
	defer stop()
	here := host.Here().Host(ctx)
	if err := quits.whole(func() error { return writable(m.Out) }); err != nil {
		return fail(s, err)
	}
	log, err := m.log(tasks)
	if err != nil {
		return fail(s, err)
	}
	defer func() { _ = log.Close() }()
	book, err := m.open(ctx, quits, here, tasks)
	if err != nil {
		fmt.Fprintf(log, "refused: %v\n", err)
		return fail(s, err)
	}
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

const logExtension = ".log"

// A logFile is the log of a document, and locked.
type logFile struct {
	*os.File
	lock *flock.Flock
}

// Close also unlocks it.
func (f *logFile) Close() error { return errors.Join(f.File.Close(), f.lock.Close()) }

// logName is the name of the log of a document.
func logName(out string) string { return strings.TrimSuffix(out, filepath.Ext(out)) + logExtension }

// log opens the log, which is kept beside the document. It is locked until it is closed or the process ends: of two that measure
// into one document the later would write over what the other has measured.
func (m *measuring) log(tasks []task) (*logFile, error) {
	name := logName(m.Out)
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // The user names the file, for everybody to read.
	if err != nil {
		return nil, fmt.Errorf("cannot write the log beside the results: %w", err)
	}
	log := &logFile{f, flock.New(name)}
	locked, err := log.lock.TryLock()
	switch {
	case err != nil:
		err = fmt.Errorf("cannot lock the log beside the results: %w", err)
	case !locked:
		err = fmt.Errorf("another process measures into %s: wait for its end, or write to another file (--out)", m.Out)
	default:
		for i := range tasks {
			fmt.Fprintf(f, "%s %s\n", time.Now().UTC().Format(time.RFC3339), tasks[i].name())
		}
		return log, nil
	}
	return nil, errors.Join(err, log.Close())
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
	over int // how many steps are over
}

func newMeters(ctx context.Context, errs, log io.Writer) *meters {
	return &meters{ctx: ctx, each: [2]*progress.Display{progress.NewDisplay(errs, columns(errs)), progress.NewDisplay(log, 0)}}
}

// Plan implements progress.Meter.
func (m *meters) Plan(steps []progress.Step) {
	for _, d := range m.each {
		d.Plan(steps)
	}
}

// Begin implements progress.Meter.
func (m *meters) Begin(name string) {
	if m.ctx.Err() != nil {
		return
	}
	for _, d := range m.each {
		d.Begin(name)
	}
}

// End implements progress.Meter.
func (m *meters) End(result string) {
	if m.ctx.Err() != nil {
		return
	}
	m.over++
	for _, d := range m.each {
		d.End(result)
	}
}

func (m *meters) close() {
	for _, d := range m.each {
		d.Close()
	}
}
