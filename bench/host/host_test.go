package host

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wherryhq/wherry/bench/document"
)

const cpuinfo = `processor	: 0
model name	: Example CPU 9000
cpu MHz		: 2445.404
physical id	: 0
core id		: 0

processor	: 1
model name	: Example CPU 9000
cpu MHz		: 3001.000
physical id	: 0
core id		: 0

processor	: 2
model name	: Example CPU 9000
cpu MHz		: 1200.000
physical id	: 1
core id		: 0
`

const dmidecode = `Memory Device
	Size: 16 GB
	Speed: 3200 MT/s
	Configured Memory Speed: 2933 MT/s
Memory Device
	Size: No Module Installed
	Speed: Unknown
	Configured Memory Speed: Unknown
`

// probe looks at files, and at programs by their command lines.
func probe(files, programs map[string]string) Probe {
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Probe{all, func(_ context.Context, program string, args ...string) (string, error) {
		out, ok := programs[strings.Join(append([]string{program}, args...), " ")]
		if !ok {
			return "", errors.New("there is no such program")
		}
		return out, nil
	}}
}

func TestHost(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"proc/cpuinfo":              cpuinfo,
		"proc/meminfo":              "MemTotal:       24684092 kB\nMemFree:          123456 kB\n",
		"proc/sys/kernel/osrelease": "6.8.0-41\n",
		"etc/os-release":            "NAME=\"Example\"\nPRETTY_NAME=\"Example Linux 12 (wherry)\"\n",
	}
	want := document.Host{
		CPU: "Example CPU 9000", Architecture: runtime.GOARCH, FrequencyMHz: 3001, PhysicalCores: 2, LogicalCores: 3,
		MemoryBytes: 24_684_092 << 10, MemorySpeed: "2933 MT/s", OS: "Example Linux 12 (wherry)", Kernel: "6.8.0-41",
	}
	p := probe(files, map[string]string{"dmidecode --type memory": dmidecode})
	if diff := cmp.Diff(want, p.Host(t.Context())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	files["sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"] = "3500000\n"
	want.FrequencyMHz, want.MemorySpeed = 3500, document.Unknown
	if diff := cmp.Diff(want, probe(files, nil).Host(t.Context())); diff != "" {
		t.Errorf("with a known highest frequency and no dmidecode, -want +got:\n%s", diff)
	}
}

func TestHostOnARM(t *testing.T) {
	t.Parallel()
	p := probe(map[string]string{"proc/cpuinfo": "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\nHardware\t: board\n"}, nil)
	if h := p.Host(t.Context()); h.CPU != "implementer 0x41 part 0xd0c" || h.LogicalCores != 1 || h.PhysicalCores != 0 {
		t.Errorf("%+v", h)
	}
}

func TestHostUnknown(t *testing.T) {
	t.Parallel()
	want := document.Host{
		CPU: document.Unknown, Architecture: runtime.GOARCH, LogicalCores: runtime.NumCPU(), MemorySpeed: document.Unknown,
		OS: document.Unknown, Kernel: document.Unknown,
	}
	if diff := cmp.Diff(want, probe(nil, nil).Host(t.Context())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestProvenance(t *testing.T) {
	t.Parallel()
	part := Part{
		Procs: 2, Quick: true, Set: map[string]string{"GOGC": "off"}, Codec: "encoding/json", Broker: "mem", Valgrind: true,
	}
	p := probe(nil, map[string]string{"valgrind --version": "valgrind-3.22.0"})
	got := p.Provenance(t.Context(), part, time.Date(2026, 12, 1, 6, 0, 0, 0, time.FixedZone("", 3600)))
	want := document.Provenance{
		Version: devel, Commit: got.Commit, Dirty: got.Dirty, Date: "2026-12-01T05:00:00Z", Go: runtime.Version(), GOMAXPROCS: 2,
		BuildFlags: got.BuildFlags, Environment: Recorded(part.Set), Codec: "encoding/json", Valgrind: "3.22.0", Client: None,
		Broker: "mem", Durability: None, Quick: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(got.BuildFlags, "GOARCH="+runtime.GOARCH) || strings.Contains(got.BuildFlags, "vcs") {
		t.Errorf("the build flags are %q", got.BuildFlags)
	}
}

// besides is what git status is asked about.
const besides = " -- :/ :(exclude,top)bench/results :(exclude,top)docs/benchmarks"

func TestCommit(t *testing.T) {
	t.Parallel()
	git := map[string]string{
		"git rev-parse --show-toplevel": "../..", "git -C ../.. rev-parse HEAD": "a61c723",
		"git -C ../.. status --porcelain" + besides + " :(exclude,top)bench/host/own/results.json": " M worker.go",
	}
	stamped := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "b1b"}, {Key: "vcs.modified", Value: "true"}}}
	none := t.TempDir()
	elsewhere := map[string]string{"git rev-parse --show-toplevel": none, "git -C " + none + " rev-parse HEAD": "c2c"}
	for name, test := range map[string]struct {
		programs map[string]string
		info     *debug.BuildInfo
		commit   string
		dirty    bool
	}{
		"of the clone":     {git, new(debug.BuildInfo), "a61c723", true},
		"of the build":     {git, stamped, "b1b", true},
		"of another clone": {elsewhere, new(debug.BuildInfo), document.Unknown, false},
		"without git":      {nil, new(debug.BuildInfo), document.Unknown, false},
	} {
		commit, dirty := probe(nil, test.programs).commit(t.Context(), test.info, "own/results.json")
		if commit != test.commit || dirty != test.dirty {
			t.Errorf("%s: %s, %v, want %s, %v", name, commit, dirty, test.commit, test.dirty)
		}
	}
}

// TestCommitOfTree has programs that are built in a clone, by a program of which no commit is known.
func TestCommitOfTree(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status, results, commit string
		dirty                   bool
	}{
		"clean":             {"git -C /clone status --porcelain" + besides, "", "d3d", false},
		"with changes":      {"git -C /clone status --porcelain" + besides + " :(exclude,top)own.json", "/clone/own.json", "d3d", true},
		"results elsewhere": {"git -C /clone status --porcelain" + besides, "/other/own.json", "d3d", false},
	} {
		changes := ""
		if test.dirty {
			changes = " M worker.go"
		}
		p := probe(nil, map[string]string{"git -C /clone rev-parse HEAD": "d3d", test.status: changes})
		got := p.Provenance(t.Context(), Part{Procs: 1, Tree: "/clone", Results: test.results}, time.Now())
		if got.Commit != test.commit || got.Dirty != test.dirty {
			t.Errorf("%s: %s, %v, want %s, %v", name, got.Commit, got.Dirty, test.commit, test.dirty)
		}
	}
}

// TestWithin has a working directory, or a folder of results, that is a symbolic link into the clone.
func TestWithin(t *testing.T) {
	t.Parallel()
	clone, links := t.TempDir(), t.TempDir()
	link, elsewhere := filepath.Join(links, "link"), filepath.Join(links, "elsewhere")
	if err := errors.Join(os.Mkdir(filepath.Join(clone, "own"), 0o700), os.Symlink(clone, link), os.Symlink(links, filepath.Join(clone, "out"))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ folder, name, want string }{
		{clone, filepath.Join(clone, "own", "results.json"), "own/results.json"},
		{clone, filepath.Join(link, "own", "results.json"), "own/results.json"},
		{link, filepath.Join(clone, "results.json"), "results.json"},
		{clone, filepath.Join(elsewhere, "results.json"), ""},
		{clone, filepath.Join(clone, "out", "results.json"), ""},
		{clone, "", ""},
	} {
		if path, ok := within(test.folder, test.name); ok != (test.want != "") || ok && path != test.want {
			t.Errorf("%s in %s: %q, %v, want %q", test.name, test.folder, path, ok, test.want)
		}
	}
}

// TestOfTree has a program that is not of the clone whose programs it would measure.
func TestOfTree(t *testing.T) {
	t.Parallel()
	stamped := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "b1b"}}}
	const head, version = "git -C /clone rev-parse HEAD", "go -C /clone env GOVERSION"
	for name, test := range map[string]struct {
		info     *debug.BuildInfo
		programs map[string]string
		want     string
	}{
		"the same":         {stamped, map[string]string{head: "b1b", version: runtime.Version()}, ""},
		"another commit":   {stamped, map[string]string{head: "c2c", version: runtime.Version()}, "from the commit b1b, and /clone, whose programs would be measured, is at c2c"},
		"another Go":       {stamped, map[string]string{head: "b1b", version: "go1.99"}, "the go command in /clone builds by go1.99: build wherry anew"},
		"no commit known":  {new(debug.BuildInfo), map[string]string{head: "c2c", version: runtime.Version()}, ""},
		"nothing is known": {stamped, nil, ""},
	} {
		err := probe(nil, test.programs).ofTree(t.Context(), test.info, "/clone")
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"":                                     devel,
		"(devel)":                              devel,
		"v0.3.1":                               "v0.3.1",
		"v0.3.2-0.20261130101500-a61c723f0123": devel,
		"v0.3.2-0.20261130101500-a61c723f0123+dirty": devel,
		"v0.3.1+dirty": devel,
	} {
		for name, info := range map[string]*debug.BuildInfo{
			"main":       {Main: debug.Module{Path: root + "/cmd/wherry", Version: version}},
			"dependency": {Main: debug.Module{Path: "example.com/app"}, Deps: []*debug.Module{{Path: root, Version: version}}},
		} {
			if got := Version(info); got != want {
				t.Errorf("%s %q: %q, want %q", name, version, got, want)
			}
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	own := []string{"HOME=a", "GOGC=50", "GOMAXPROCS=9", "GOFLAGS=-race", "GODEBUG=", "MINE=1", "PATH=/bin"}
	set := map[string]string{"GODEBUG": "asyncpreemptoff=1", "MINE": "2"}
	got := environment(own, 1, set)
	if want := []string{"HOME=a", "PATH=/bin", "GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1", "MINE=2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	record := map[string]string{
		"GOGC": Cleared, "GOMAXPROCS": Cleared, "GOFLAGS": Cleared, "GODEBUG": "asyncpreemptoff=1", "MINE": "2",
	}
	if diff := cmp.Diff(record, recorded(own, set)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !slices.Contains(Environment(3, nil), "GOMAXPROCS=3") {
		t.Error("the environment of a child has no GOMAXPROCS")
	}
}

// TestHere fails where a results document could not be written.
func TestHere(t *testing.T) {
	t.Parallel()
	if h := Here().Host(t.Context()); h.CPU == document.Unknown || h.OS == document.Unknown || h.MemoryBytes == 0 {
		t.Errorf("this machine is not known: %+v", h)
	}
}
