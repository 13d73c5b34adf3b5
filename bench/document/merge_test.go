package document

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMergeReplaces(t *testing.T) {
	t.Parallel()
	d := sample(t)
	part := sampleMatrix()
	part.Rows = part.Rows[:1]
	part.Ratios = nil
	part.Provenance.Commit = "0000000"
	merge(t, d, "mem", MatrixPart, part)
	merge(t, d, "amqp", CodePart, sampleCode())
	if d.Backends[0].Name != "amqp" || d.Backend("mem").Part(MatrixPart) != part || d.Backend("mem").Code == nil {
		t.Errorf("the parts are not where they belong: %+v", d.Backends)
	}
	if err := d.Validate(); err != nil {
		t.Error(err)
	}
	if err := d.Merge(sampleHost(), "mem", "parts", part); err == nil || !strings.Contains(err.Error(), "matrix, levers, code, peers or pairs") {
		t.Errorf("a part that does not exist: %v", err)
	}
}

func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(h *Host, p *Provenance)
		want   string
	}{
		"CPU":          {func(h *Host, _ *Provenance) { h.CPU = "other" }, "CPU: other, and the host of the document has Example CPU 9000"},
		"architecture": {func(h *Host, _ *Provenance) { h.Architecture = "arm64" }, "architecture: arm64"},
		"cores":        {func(h *Host, _ *Provenance) { h.PhysicalCores = 2 }, "physical cores: 2"},
		"threads":      {func(h *Host, _ *Provenance) { h.LogicalCores = 4 }, "logical cores: 4"},
		"memory":       {func(h *Host, _ *Provenance) { h.MemoryBytes *= 2 }, "memory: 16646848512 bytes"},
		"OS":           {func(h *Host, _ *Provenance) { h.OS = "Example Linux 13" }, "OS: Example Linux 13"},
		"kernel":       {func(h *Host, _ *Provenance) { h.Kernel = "6.9" }, "kernel: 6.9"},
		"Go":           {func(_ *Host, p *Provenance) { p.Go = "go1.27.3" }, "Go version: go1.27.3, and kafka/levers of the document has go1.26.8"},
		"version":      {func(_ *Host, p *Provenance) { p.Version = "v0.4.0" }, "wherry version: v0.4.0"},
		"build flags":  {func(_ *Host, p *Provenance) { p.BuildFlags = "-race" }, "build flags: -race"},
		"quick":        {func(_ *Host, p *Provenance) { p.Quick = true }, "length of the runs: quick"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sample(t)
			before := string(encoded(t, d))
			host, part := sampleHost(), sampleLevers()
			test.change(&host, &part.Provenance)
			err := d.Merge(host, "mem", LeversPart, part)
			refusal, ok := errors.AsType[*RefusedError](err)
			if !ok || len(refusal.Differences) != 1 || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "--fresh") {
				t.Errorf("%v, want one difference, %q", err, test.want)
			}
			if string(encoded(t, d)) != before {
				t.Error("the document was changed")
			}
		})
	}
}

func TestSameHost(t *testing.T) {
	t.Parallel()
	a, b := sampleHost(), sampleHost()
	b.FrequencyMHz, b.MemorySpeed = 1, "fast"
	if err := SameHost(a, b); err != nil {
		t.Error(err)
	}
	b.Kernel = "other"
	if err := SameHost(a, b); err == nil {
		t.Error("another kernel is the same host")
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "results.json")
	if _, err := ReadFile(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: %v", err)
	}
	d := sample(t)
	if err := WriteFile(name, d); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encoded(t, again), encoded(t, d)) {
		t.Error("the document was read another way than it was written")
	}
	d.Backends[0].Levers.Rows[0].Runs[0].Messages = -1
	if err := WriteFile(name, d); err == nil {
		t.Error("a wrong document was written")
	}
	if files, _ := os.ReadDir(filepath.Dir(name)); len(files) != 1 {
		t.Errorf("there is more than the document: %v", files)
	}
}

// TestFileOfALink writes through a link, which stays one.
func TestFileOfALink(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "results.json")
	link := filepath.Join(t.TempDir(), "link.json")
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(name, link); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(link, sample(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(name); err != nil {
		t.Errorf("the file that the link points to: %v", err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is none any more: %v, %v", info, err)
	}
}

// TestFileWithoutEnd reads more than any document has.
func TestFileWithoutEnd(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "results.json")
	f, err := os.Create(name)
	if err == nil {
		err = errors.Join(f.Truncate(largest+1), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	_, err = ReadFile(name)
	if _, ok := errors.AsType[*InvalidError](err); !ok || !strings.Contains(err.Error(), "more than 16777216 bytes") {
		t.Errorf("a file of %d bytes: %v", largest+1, err)
	}
}

func TestMoveAside(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "results.json")
	at := time.Date(2026, 12, 1, 5, 6, 7, 0, time.FixedZone("", 3600))
	if moved, err := MoveAside(name, at); moved != "" || err != nil {
		t.Errorf("without a file: %q, %v", moved, err)
	}
	if err := os.WriteFile(name, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	moved, err := MoveAside(name, at)
	if want := filepath.Join(filepath.Dir(name), "results.20261201T040607Z.json"); err != nil || moved != want {
		t.Errorf("moved to %q, %v, want %q", moved, err, want)
	}
	if data, _ := os.ReadFile(moved); string(data) != "old" {
		t.Errorf("moved %q", data)
	}
	if err := os.WriteFile(name, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := MoveAside(name, at); err == nil {
		t.Error("what was moved aside before was written over")
	}
}
