package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/progress"
)

// TestBenchOut names documents that cannot be written. Nothing may be measured, moved or written.
func TestBenchOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder.json")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(t.TempDir(), "kept.json")
	if err := os.WriteFile(kept, []byte("{}"), 0o400); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ out, want string }{
		"read-only": {kept, "kept.json: it is read-only; name another (--out)"},
		"no name":   {"", "the results document has no name"},
		"log":       {filepath.Join(dir, "results.log"), "results.log is the name of the log"},
		"folder":    {folder, "folder.json: it is no regular file"},
		"no folder": {filepath.Join(dir, "none", "results.json"), "there is no folder " + filepath.Join(dir, "none") + ": make it, or name another file (--out)"},
		"device":    {os.DevNull, "it is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, more := range [][]string{nil, {"--fresh"}} {
				r := bench(t, quick(test.out, more...)...)
				r.want(t, 1, nil, []string{"wherry bench: ", test.want})
				if strings.Contains(r.errs, "steps, about") {
					t.Errorf("%q: something was measured", more)
				}
			}
		})
	}
	t.Cleanup(func() {
		if files, err := os.ReadDir(dir); err != nil || len(files) != 1 || !files[0].IsDir() {
			t.Errorf("there is %v, %v, want the folder alone", files, err)
		}
	})
}

// TestBenchTwice measures into a document that is being measured into.
func TestBenchTwice(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "results.json")
	var second result
	once := sync.OnceFunc(func() { second = bench(t, quick(out)...) })
	p := &pull{at: "steps, about", end: once}
	status := run(t.Context(), append([]string{"bench"}, quick(out)...), streams{in: strings.NewReader(""), out: new(bytes.Buffer), errs: p})
	if status != 0 {
		t.Fatalf("status %d: %s", status, p.text.String())
	}
	second.want(t, 1, nil, []string{"another process measures into " + out, "--out"})
	third := bench(t, quick(out)...)
	third.want(t, 0, []string{"mem/matrix is in "}, []string{"2 steps, about"})
}

// TestBenchRescue makes writing impossible while something is measured.
func TestBenchRescue(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "results.json")
	p := &pull{at: "steps, about", end: func() {
		if err := os.MkdirAll(filepath.Join(out, "in the way"), 0o700); err != nil {
			t.Error(err)
		}
	}}
	status := run(t.Context(), append([]string{"bench"}, quick(out)...), streams{in: strings.NewReader(""), out: new(bytes.Buffer), errs: p})
	kept, err := filepath.Glob(filepath.Join(filepath.Dir(out), "results.rescued-*.json"))
	if status != 1 || err != nil || len(kept) != 1 || !strings.Contains(p.text.String(), "is kept as "+kept[0]) {
		t.Fatalf("status %d, kept is %q, said was:\n%s", status, kept, p.text.String())
	}
	if rows := read(t, kept[0]).Backends[0].Matrix.Rows; len(rows) != 2 {
		t.Errorf("%d rows are kept, want 2", len(rows))
	}
}

// TestBenchVoids has one row that no document takes beside one that is whole.
func TestBenchVoids(t *testing.T) {
	t.Parallel()
	d := read(t, resultsOf(t, 2e9, "6.8"))
	name := filepath.Join(t.TempDir(), "results.json")
	whole := d.Backends[0].Matrix.Rows[0]
	wrong := filled(document.Cell{
		Subject: "wherry", Flow: "parallel", Payload: 64, Consumers: 2, Handler: "zero", Codec: "json", Procs: 2,
	}, document.Live)
	wrong.Runs[0].PeakRSS = 0
	r := &results{name: name, host: d.Host, document: document.New(d.Host), quits: newQuitter(new(bytes.Buffer), nil)}
	var out, errs bytes.Buffer
	status := r.measure(t.Context(), streams{out: &out, errs: &errs}, new(bytes.Buffer), &task{
		backend: "mem", part: document.MatrixPart, origin: host.Part{Procs: 2}, run: func(context.Context, progress.Meter) ([]document.Row, error) {
			return []document.Row{whole, wrong}, nil
		},
	})
	if status != 1 || !strings.Contains(errs.String(), "failed: wherry parallel 64 B consumers=2") {
		t.Errorf("status %d, said was:\n%s", status, errs.String())
	}
	rows := read(t, name).Backends[0].Matrix.Rows
	if rows[0].NotShown != nil || rows[1].NotShown == nil || !strings.Contains(rows[1].NotShown.Text, "peak_rss_bytes: is 0") {
		t.Errorf("the rows are %+v", rows)
	}
}

// TestBenchInterruptedKeepsMore has parts that are cut short, and a document that has such a part already.
func TestBenchInterruptedKeepsMore(t *testing.T) {
	t.Parallel()
	missing := &document.Reason{Code: document.NotMeasured, Text: document.Interrupted}
	failed := &document.Reason{Code: document.Failed, Text: "of 5000 messages 1 was lost"}
	row := func(consumers int, reason *document.Reason) document.Row {
		r := filled(document.Cell{
			Subject: "wherry", Flow: "parallel", Payload: 64, Consumers: consumers, Handler: "zero", Codec: "json", Procs: 2,
		}, document.Live)
		if reason != nil {
			r.Runs, r.NotShown = nil, reason
		}
		return r
	}
	for name, test := range map[string]struct {
		old, fresh []document.Row
		kept       bool // the old part
	}{
		"a value would go":             {[]document.Row{row(1, nil), row(2, nil)}, []document.Row{row(1, nil), row(2, missing)}, true},
		"a failure would go":           {[]document.Row{row(1, nil), row(2, failed)}, []document.Row{row(1, nil), row(2, missing)}, true},
		"one value for another":        {[]document.Row{row(1, nil), row(2, missing)}, []document.Row{row(1, missing), row(2, nil)}, true},
		"it was interrupted there too": {[]document.Row{row(1, nil), row(2, missing)}, []document.Row{row(1, nil), row(2, missing)}, false},
		"it knows more than before":    {[]document.Row{row(1, missing), row(2, missing)}, []document.Row{row(1, nil), row(2, missing)}, false},
		"nothing was there":            {nil, []document.Row{row(1, nil), row(2, missing)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := read(t, resultsOf(t, 2e9, "6.8"))
			name := filepath.Join(t.TempDir(), "results.json")
			provenance := d.Backends[0].Matrix.Provenance
			r := &results{name: name, host: d.Host, document: document.New(d.Host), quits: newQuitter(new(bytes.Buffer), nil)}
			if test.old != nil {
				old := &document.Part{Rows: test.old, Provenance: provenance}
				if err := r.write(streams{errs: new(bytes.Buffer)}, &task{backend: "mem", part: document.MatrixPart}, old); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := os.ReadFile(name)
			ctx, cancel := context.WithCancel(t.Context())
			var out, errs bytes.Buffer
			cancel()
			provenance.Date = "2026-12-02T05:00:00Z"
			part := &document.Part{Rows: test.fresh, Provenance: provenance}
			part.Void()
			status := r.settle(ctx, streams{out: &out, errs: &errs}, &task{backend: "mem", part: document.MatrixPart}, part, ctx.Err(), 3)
			after, err := os.ReadFile(name)
			if err != nil || status != statusInterrupted {
				t.Fatalf("status %d, %v, said was:\n%s", status, err, errs.String())
			}
			aside, err := filepath.Glob(filepath.Join(filepath.Dir(name), "results.interrupted-*Z.json"))
			if err != nil || test.kept != bytes.Equal(before, after) || test.kept != (len(aside) == 1) {
				t.Fatalf("the document is as it was: %v, aside is %q, said was:\n%s", bytes.Equal(before, after), aside, errs.String())
			}
			if !test.kept {
				return
			}
			if rows := read(t, aside[0]).Backends[0].Matrix.Rows; len(rows) != len(test.fresh) {
				t.Errorf("%d rows are kept aside, want %d", len(rows), len(test.fresh))
			}
			if !strings.Contains(errs.String(), "mem/matrix of "+name+" stays as it was") || !strings.Contains(out.String(), "is in "+aside[0]) {
				t.Errorf("said was:\n%s%s", errs.String(), out.String())
			}
		})
	}
}

// TestBenchWithoutItsTools has parts in which one subject could not be run, and a document that may have values of it.
func TestBenchWithoutItsTools(t *testing.T) {
	t.Parallel()
	missing := func(text string) *document.Reason { return &document.Reason{Code: document.NotMeasured, Text: text} }
	row := func(subject string, consumers int, reason *document.Reason) document.Row {
		r := filled(document.Cell{
			Subject: subject, Flow: "parallel", Payload: 64, Consumers: consumers, Handler: "zero", Codec: "json", Procs: 2,
		}, document.Live)
		if reason != nil {
			r.Runs, r.NotShown = nil, reason
		}
		return r
	}
	tools, backlog := missing("cargo is not installed"), &document.Reason{Code: document.Unsupported, Text: "no backlog"}
	for name, test := range map[string]struct {
		old, fresh []document.Row
		kept       bool // the old part
		status     int
	}{
		"values would go": {
			[]document.Row{row("wherry", 1, nil), row("shove", 1, nil)}, []document.Row{row("wherry", 1, nil), row("shove", 1, tools)}, true, 1,
		},
		"nothing can be built": {
			[]document.Row{row("wherry", 1, nil), row("shove", 1, nil), row("shove", 2, backlog)},
			[]document.Row{row("wherry", 1, tools), row("shove", 1, tools), row("shove", 2, tools)},
			true, 1,
		},
		"it could not be run before": {
			[]document.Row{row("wherry", 1, nil), row("shove", 1, tools)}, []document.Row{row("wherry", 1, nil), row("shove", 1, tools)}, false, 0,
		},
		"it was run": {
			[]document.Row{row("wherry", 1, nil), row("wherry", 2, nil)},
			[]document.Row{row("wherry", 1, nil), row("wherry", 2, missing("the ladder stopped at 5000/s"))},
			false, 0,
		},
		"nothing was there": {nil, []document.Row{row("wherry", 1, nil), row("shove", 1, tools)}, false, 0},
		"a cell was ended from outside": {
			nil, []document.Row{row("wherry", 1, nil), row("wherry", 2, missing(document.Interrupted))}, false, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := read(t, resultsOf(t, 2e9, "6.8"))
			name := filepath.Join(t.TempDir(), "results.json")
			provenance := d.Backends[0].Matrix.Provenance
			peers := &task{backend: "mem", part: document.PeersPart}
			r := &results{name: name, host: d.Host, document: document.New(d.Host), quits: newQuitter(new(bytes.Buffer), nil)}
			if test.old != nil {
				if err := r.write(streams{errs: new(bytes.Buffer)}, peers, &document.Part{Rows: test.old, Provenance: provenance}); err != nil {
					t.Fatal(err)
				}
			}
			before, _ := os.ReadFile(name)
			var out, errs bytes.Buffer
			provenance.Date = "2026-12-02T05:00:00Z"
			part := &document.Part{Rows: test.fresh, Provenance: provenance}
			part.Void()
			status := r.settle(t.Context(), streams{out: &out, errs: &errs}, peers, part, nil, 3)
			after, err := os.ReadFile(name)
			if err != nil || status != test.status {
				t.Fatalf("status %d, want %d, %v, said was:\n%s", status, test.status, err, errs.String())
			}
			aside, err := filepath.Glob(filepath.Join(filepath.Dir(name), "results.incomplete-*Z.json"))
			if err != nil || test.kept != bytes.Equal(before, after) || test.kept != (len(aside) == 1) {
				t.Fatalf("the document is as it was: %v, aside is %q, said was:\n%s", bytes.Equal(before, after), aside, errs.String())
			}
			if test.kept && len(read(t, aside[0]).Backends[0].Peers.Rows) != len(test.fresh) {
				t.Errorf("not all of the rows are kept aside")
			}
		})
	}
}

// TestBenchInterruptedLate ends a turn before any of its cells has all of its runs.
func TestBenchInterruptedLate(t *testing.T) {
	t.Parallel()
	d := read(t, resultsOf(t, 2e9, "6.8"))
	name := filepath.Join(t.TempDir(), "few.json")
	r := &results{name: name, host: d.Host, document: document.New(d.Host), quits: newQuitter(new(bytes.Buffer), nil)}
	ctx, cancel := context.WithCancel(t.Context())
	var errs, log bytes.Buffer
	missing := document.Row{
		Cell: d.Backends[0].Matrix.Rows[0].Cell, Method: document.Drain,
		NotShown: &document.Reason{Code: document.NotMeasured, Text: document.Interrupted},
	}
	status := r.measure(ctx, streams{out: new(bytes.Buffer), errs: &errs}, &log, &task{
		backend: "mem", part: document.MatrixPart, origin: host.Part{Procs: 2},
		run: func(ctx context.Context, meter progress.Meter) ([]document.Row, error) {
			meter.Plan([]progress.Step{{Name: "first"}, {Name: "second"}})
			meter.Begin("first")
			meter.End("12345/s")
			meter.Begin("second")
			cancel()
			meter.End("no number")
			return []document.Row{missing}, ctx.Err()
		},
	})
	want := "nothing is written: interrupted after 1 run, and no cell had all of its runs; what each came to is in " +
		filepath.Join(filepath.Dir(name), "few.log")
	if status == 0 || !strings.Contains(errs.String(), want) {
		t.Errorf("status %d, said was:\n%s", status, errs.String())
	}
	if !strings.Contains(log.String(), "12345/s") {
		t.Errorf("the log does not have the figure: %s", log.String())
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("a document was written")
	}
}
