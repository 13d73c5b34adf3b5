package host

import (
	"context"
	"errors"
	"fmt"
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
	// Tree is the clone whose programs are built and measured, empty where it is this program that is: see [Probe.OfTree].
	Tree string
}

// Provenance is where the values of a part that is begun now come from. The tree, whose commit it is, is the one that this
// program was built from, or else the clone of the repository that this process works in.
func (p Probe) Provenance(ctx context.Context, part Part, now time.Time) document.Provenance {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	commit, dirty := p.commit(ctx, info, part.Results)
	if part.Tree != "" {
		if of, changed := p.state(ctx, part.Tree, part.Results); of != document.Unknown {
			commit, dirty = of, changed || dirty && commit == of
		}
	}
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
	return p.state(ctx, top, results)
}

// state is what git says of a clone, given by its folder.
func (p Probe) state(ctx context.Context, tree, results string) (commit string, dirty bool) {
	commit, err := p.Output(ctx, "git", "-C", tree, "rev-parse", "HEAD")
	if err != nil {
		return document.Unknown, false
	}
	status := []string{"-C", tree, "status", "--porcelain", "--", ":/", ":(exclude,top)bench/results", ":(exclude,top)docs/benchmarks"}
	if own, ok := within(tree, results); ok {
		status = append(status, ":(exclude,top)"+own)
	}
	changes, err := p.Output(ctx, "git", status...)
	return commit, err != nil || changes != ""
}

// within is the path of a file from a folder that it is below, with slashes. Git names a folder without symbolic links.
func within(folder, name string) (path string, ok bool) {
	if name == "" {
		return "", false
	}
	from, errFrom := resolved(folder)
	to, errTo := resolved(filepath.Dir(name))
	path, err := filepath.Rel(from, filepath.Join(to, filepath.Base(name)))
	return filepath.ToSlash(path), errors.Join(errFrom, errTo, err) == nil && filepath.IsLocal(path)
}

// resolved is a folder from the root on, without symbolic links where it is there.
func resolved(folder string) (string, error) {
	path, err := filepath.Abs(folder)
	if of, errLinks := filepath.EvalSymlinks(path); errLinks == nil {
		path = of
	}
	return path, err
}

// OfTree is an error where this program was built from another commit than that of a clone, or by another version of Go than is
// there now. Programs that are built in the clone would be counted and named by what is not theirs: a provenance has one commit
// and one Go version. What is not known of either is no error.
func (p Probe) OfTree(ctx context.Context, tree string) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return p.ofTree(ctx, info, tree)
}

func (p Probe) ofTree(ctx context.Context, info *debug.BuildInfo, tree string) error {
	const anew = "build wherry anew, from the clone that it works in"
	built := ""
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			built = setting.Value
		}
	}
	if commit, err := p.Output(ctx, "git", "-C", tree, "rev-parse", "HEAD"); err == nil && built != "" && commit != built {
		return fmt.Errorf("this program was built from the commit %s, and %s, whose programs would be measured, is at %s: %s", built, tree, commit, anew)
	}
	if version, err := p.Output(ctx, "go", "-C", tree, "env", "GOVERSION"); err == nil && version != runtime.Version() {
		return fmt.Errorf("this program was built by %s, and the go command in %s builds by %s: %s", runtime.Version(), tree, version, anew)
	}
	return nil
}

// isRoot reports whether a directory is that of the module.
func isRoot(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && strings.HasPrefix(string(data), "module "+root+"\n")
}
