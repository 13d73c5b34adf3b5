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
	for name, test := range map[string]struct{ out, want string }{
		"no name":   {"", "the results document has no name"},
		"log":       {filepath.Join(dir, "results.log"), "results.log is the name of the log"},
		"folder":    {folder, "folder.json: it is no regular file"},
		"no folder": {filepath.Join(dir, "none", "results.json"), "no such file or directory"},
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
	r := &results{name: name, host: d.Host, document: document.New(d.Host)}
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
