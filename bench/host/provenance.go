package host

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/mod/module"

	"github.com/wherryhq/wherry/bench/document"
)

// None stands in a provenance for what took no part.
const None = "none"

// devel is the version of what was built from a clone.
const devel = "(devel)"

// root is the module whose tree a commit is of.
const root = "github.com/wherryhq/wherry"

// A Part is what whoever measures knows of a part. What is empty took no part.
type Part struct {
	Procs      int
	Quick      bool
	Set        map[string]string // what children get besides GOMAXPROCS
	Codec      string            // with its version
	Client     string
	Broker     string
	Durability string
	Valgrind   bool // whether anything is counted
	// Results is the file that the results go into. Changes of it do not make a tree dirty.
	Results string
}

// Provenance is where the values of a part that is begun now come from. The tree, whose commit it is, is the one that this
// program was built from, or else the clone of the repository that this process works in.
func (p Probe) Provenance(ctx context.Context, part Part, now time.Time) document.Provenance {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	commit, dirty := p.commit(ctx, info, part.Results)
	provenance := document.Provenance{
		Version:     Version(info),
		Commit:      commit,
		Dirty:       dirty,
		Date:        now.UTC().Format(time.RFC3339),
		Go:          runtime.Version(),
		GOMAXPROCS:  part.Procs,
		BuildFlags:  buildFlags(info),
		Environment: Recorded(part.Set),
		Codec:       took(part.Codec),
		Valgrind:    None,
		Client:      took(part.Client),
		Broker:      took(part.Broker),
		Durability:  took(part.Durability),
		Quick:       part.Quick,
	}
	if part.Valgrind {
		version, err := p.Output(ctx, "valgrind", "--version")
		if err != nil {
			version = ""
		}
		provenance.Valgrind = known(strings.TrimPrefix(version, "valgrind-"))
	}
	return provenance
}

func took(s string) string {
	if s == "" {
		return None
	}
	return s
}

// Version is the version of wherry that a program was built with. Whatever was built between two releases is "(devel)":
// its commit tells it from others.
func Version(info *debug.BuildInfo) string {
	version := ""
	if strings.HasPrefix(info.Main.Path, root) {
		version = info.Main.Version
	}
	for _, dependency := range info.Deps {
		if dependency.Path == root && version == "" {
			version = dependency.Version
		}
	}
	if version == "" || module.IsPseudoVersion(strings.TrimSuffix(version, "+dirty")) || strings.HasSuffix(version, "+dirty") {
		return devel
	}
	return version
}

// buildFlags are the settings of a build, without those of version control.
func buildFlags(info *debug.BuildInfo) string {
	var flags []string
	for _, setting := range info.Settings {
		if !strings.HasPrefix(setting.Key, "vcs") && setting.Value != "" {
			flags = append(flags, setting.Key+"="+setting.Value)
		}
	}
	return took(strings.Join(flags, " "))
}

// commit is what the build knows, or else what git says of the clone around the working directory.
// Files that are made from results, and the results, are no part of what is measured.
func (p Probe) commit(ctx context.Context, info *debug.BuildInfo, results string) (commit string, dirty bool) {
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			commit = setting.Value
		case "vcs.modified":
			dirty = setting.Value == "true"
		}
	}
	if commit != "" {
		return commit, dirty
	}
	top, err := p.Output(ctx, "git", "rev-parse", "--show-toplevel")
	if err != nil || !isRoot(top) {
		return document.Unknown, false
	}
	commit, err = p.Output(ctx, "git", "rev-parse", "HEAD")
	if err != nil {
		return document.Unknown, false
	}
	status := []string{"status", "--porcelain", "--", ":/", ":(exclude,top)bench/results", ":(exclude,top)docs/benchmarks"}
	if filepath.IsLocal(results) {
		status = append(status, ":(exclude)"+filepath.ToSlash(results))
	}
	changes, err := p.Output(ctx, "git", status...)
	return commit, err != nil || changes != ""
}

// isRoot reports whether a directory is that of the module.
func isRoot(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(data), "module "+root+"\n")
}
