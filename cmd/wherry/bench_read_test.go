package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

// resultsOf writes a document whose drain took so long, on a machine with that kernel.
func resultsOf(t *testing.T, elapsed int64, kernel string) string {
	t.Helper()
	here := document.Host{
		CPU: "Example CPU 9000", Architecture: "amd64", LogicalCores: 2, MemorySpeed: document.Unknown, OS: "Example Linux 12", Kernel: kernel,
	}
	part := &document.Part{
		Provenance: document.Provenance{
			Version: "v0.3.1", Commit: "a61c723", Date: "2026-12-01T05:00:00Z", Go: "go1.26.8", GOMAXPROCS: 2, BuildFlags: "none",
			Codec: "encoding/json", Valgrind: "none", Client: "none", Broker: "mem", Durability: "none",
		},
		Rows: []document.Row{{
			Cell: document.Cell{
				Subject: "wherry", Flow: "parallel", Payload: 64, Consumers: 1, Handler: "zero", Codec: "json", Procs: 2,
			},
			Method: document.Drain,
		}},
	}
	for round := range 8 {
		part.Rows[0].Runs = append(part.Rows[0].Runs, document.Run{
			Round: round, Messages: 2_000_000, ElapsedNS: elapsed + int64(round), CPUNS: 1e9, PeakRSS: 1 << 20,
			Ledger: document.Ledger{Published: 2_000_000, Handled: 2_000_000},
		})
	}
	d := document.New(here)
	if err := d.Merge(here, "mem", document.MatrixPart, part); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "results.json")
	if err := document.WriteFile(name, d); err != nil {
		t.Fatal(err)
	}
	return name
}

// replaced writes a file with a text replaced, once.
func replaced(t *testing.T, name, old, wrong string) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s has no %s:\n%s", name, old, data)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(string(data), old, wrong, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// bench runs a command of the benchmark, of which nothing is read from standard input.
func bench(t *testing.T, args ...string) result {
	t.Helper()
	return runCommand(t.Context(), strings.NewReader(""), append([]string{"bench"}, args...)...)
}

func TestBenchShow(t *testing.T) {
	t.Parallel()
	r := bench(t, "show", resultsOf(t, 2e9, "6.8"))
	r.want(t, 0, []string{"Example CPU 9000, amd64", "MEM MATRIX", "wherry v0.3.1, commit a61c723,", " 1 M "}, nil)
	r = bench(t, "show", resultsOf(t, 2e9, "6.8"), "--only", "payload=64B consumers=1")
	r.want(t, 0, []string{" 1 M "}, nil)
	r = bench(t, "show", resultsOf(t, 2e9, "6.8"), "--only", "flow=batch")
	r.want(t, 2, nil, []string{"no cell has flow=batch; the values are parallel"})
}

func TestBenchCheck(t *testing.T) {
	t.Parallel()
	name := resultsOf(t, 2e9, "6.8")
	r := bench(t, "check", name)
	r.want(t, 0, []string{name + " is valid: 1 row, each with a value\n"}, nil)
	replaced(t, name, `"peak_rss_bytes": 1048576`, `"peak_rss_bytes": 1048577`)
	replaced(t, name, `"best": 1000000`, `"best": 1000001`)
	r = bench(t, "check", name)
	r.want(t, 1, nil, []string{
		name + " is no valid results document",
		"\nbackends[0].matrix.rows[0].runs[0].peak_rss_bytes: 1048577 is not what was measured",
		"\nbackends[0].matrix.rows[0].summary.best: is 1000001, and follows to be 1000000\n",
	})
	for _, command := range []string{"show", "check"} {
		r = bench(t, command, filepath.Join(t.TempDir(), "none.json"))
		r.want(t, 1, nil, []string{"wherry bench: cannot read the results: ", "none.json", "wherry bench run mem --out ", "bench/results/results.json"})
	}
}

func TestBenchCompare(t *testing.T) {
	t.Parallel()
	before := resultsOf(t, 2e9, "6.8")
	r := bench(t, "compare", before, resultsOf(t, 25e8, "6.8"))
	r.want(t, 0, []string{"drain wherry parallel 64 B consumers=1 json procs=2", "-20.00%", "p=0.000 n=8+8"}, nil)
	r = bench(t, "compare", before, resultsOf(t, 2e9, "6.9"))
	r.want(t, 1, nil, []string{"cannot be compared", "kernel: 6.9, and the host of the document has 6.8"})
	quickOne := resultsOf(t, 2e9, "6.8")
	d := read(t, quickOne)
	d.Backends[0].Matrix.Provenance.Quick = true
	d.Derive()
	if err := document.WriteFile(quickOne, d); err != nil {
		t.Fatal(err)
	}
	r = bench(t, "compare", before, quickOne)
	r.want(t, 0, []string{quickOne + ": mem/matrix is a quick run, whose figures are no results.\n"}, nil)
	r = bench(t, "compare", before)
	r.want(t, 2, nil, []string{`expected "<new>"`, "Run 'wherry bench compare --help'"})
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestBenchReadToAFullDisk(t *testing.T) {
	t.Parallel()
	name := resultsOf(t, 2e9, "6.8")
	for _, args := range [][]string{{"show", name}, {"check", name}, {"compare", name, name}} {
		var errs bytes.Buffer
		status := run(t.Context(), append([]string{"bench"}, args...), streams{in: strings.NewReader(""), out: full{}, errs: &errs})
		if status != 1 || !strings.Contains(errs.String(), "cannot write the output: no space left on device") {
			t.Errorf("%s: status %d, %s", args[0], status, errs.String())
		}
	}
}

func TestBenchRenders(t *testing.T) {
	t.Parallel()
	name := resultsOf(t, 2e9, "6.8")
	for command, extension := range map[string]string{"charts": "*.svg", "page": "*.md"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "out")
			r := bench(t, command, "--in", name, "--out", out, "--check")
			r.want(t, 1, nil, []string{": is missing\n", out + " is not what " + name + " says"})
			r = bench(t, command, "--in", name, "--out", name)
			r.want(t, 2, nil, []string{name + " is a file: --out wants the folder that the files go into"})
			r = bench(t, command, "--in", name, "--out", out)
			r.want(t, 0, []string{" files in " + out}, nil)
			r = bench(t, command, "--in", name, "--out", out, "--check")
			r.want(t, 0, []string{out + " is what " + name + " says"}, nil)

			files, err := filepath.Glob(filepath.Join(out, extension))
			if err != nil || len(files) == 0 {
				t.Fatalf("there is no %s in %s: %v", extension, out, err)
			}
			if err := os.WriteFile(files[0], []byte("other\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			r = bench(t, command, "--in", name, "--out", out, "--check")
			r.want(t, 1, nil, []string{filepath.Base(files[0]) + ": differs from line 1 on"})
		})
	}
}

func TestBenchRendersNothingWrong(t *testing.T) {
	t.Parallel()
	name := resultsOf(t, 2e9, "6.8")
	replaced(t, name, `"best": 1000000`, `"best": 1000001`)
	out := filepath.Join(t.TempDir(), "out")
	r := bench(t, "charts", "--in", name, "--out", out)
	r.want(t, 1, nil, []string{"rows[0].summary.best: is 1000001"})
	if _, err := os.Stat(out); err == nil {
		t.Error("charts were written from a wrong document")
	}
	r = bench(t, "page", "--in", name, "--out", out)
	r.want(t, 1, nil, []string{"as the pages say now", "rows[0].summary.best: is 1000001"})
	files, err := filepath.Glob(filepath.Join(out, "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no page was written: %v", err)
	}
	said := false
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said = said || strings.Contains(string(data), "rows[0].summary.best: is 1000001")
	}
	if !said {
		t.Error("no page says what is wrong with the document")
	}
}

// TestBenchPageIntoOddPlaces has a document that is not there, a folder with a page of somebody else's, and one without a name.
// Nothing may be written.
func TestBenchPageIntoOddPlaces(t *testing.T) {
	t.Parallel()
	name := resultsOf(t, 2e9, "6.8")
	out := t.TempDir()
	r := bench(t, "page", "--in", name+".typo", "--out", out)
	r.want(t, 1, nil, []string{"cannot read the results: ", "wherry bench run mem --out "})
	r = bench(t, "page", "--in", filepath.Dir(name), "--out", out)
	r.want(t, 1, nil, []string{"cannot read the results: ", "is a directory"})
	own := filepath.Join(out, "README.md")
	if err := os.WriteFile(own, []byte("# Mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = bench(t, "page", "--in", name, "--out", out)
	r.want(t, 2, nil, []string{own + " is no page of results, and would be written over: name another folder (--out)"})
	if text, err := os.ReadFile(own); err != nil || string(text) != "# Mine\n" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if files, err := os.ReadDir(out); err != nil || len(files) != 1 {
		t.Errorf("there is %v, %v, want the one file", files, err)
	}
	for _, command := range []string{"page", "charts"} {
		r = bench(t, command, "--in", name, "--out=")
		r.want(t, 2, nil, []string{"the folder of the files has no name: give it one (--out)"})
	}
}
