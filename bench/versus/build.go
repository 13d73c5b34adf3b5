package versus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/matrix"
)

// A source is what a program is built from.
type source struct {
	name   string // of the step
	folder string // below the root of the repository
	tool   string
	args   []string
	// built are the programs that come of it, below the root, by the subjects that they run. An empty path is the output.
	built map[string]string
	takes time.Duration
}

// cargoTarget is where cargo puts what it builds, below the root.
const cargoTarget = ".tmp/cargo"

// goPeers and rustPeers are the two folders of peers. Their modules are no dependencies of this one.
var (
	goPeers = source{
		name: "build the peers in Go", folder: "bench/peers", tool: "go", args: []string{"build", "-buildvcs=false", "-o"},
		built: map[string]string{
			matrix.Wherry: "", matrix.Channel: "", matrix.BareChannel: "", Watermill: "", WatermillRouter: "", GoCloud: "",
			Benthos: "",
		},
		takes: 60 * time.Second,
	}
	rustPeers = source{
		name: "build the peers in Rust", folder: "bench/peers/rust", tool: "cargo",
		args:  []string{"build", "--release", "--locked", "--quiet"},
		built: map[string]string{Shove: cargoTarget + "/release/peer-shove", RustStream: cargoTarget + "/release/peer-ruststream"},
		takes: 80 * time.Second,
	}
)

// A builder makes the programs of subjects.
type builder struct {
	root  string
	temp  string // where what has no place of its own is put
	found func(tool string) (string, error)
}

// build returns the path of the program of each subject of a source.
func (b *builder) build(ctx context.Context, s *source) (map[string]string, *document.Reason) {
	folder := filepath.Join(b.root, filepath.FromSlash(s.folder))
	if _, err := os.Stat(folder); err != nil {
		return nil, unbuilt("%s is not there: the peers are built from a checkout of the repository", s.folder)
	}
	tool, err := b.found(s.tool)
	if err != nil {
		return nil, unbuilt("%s is not installed", s.tool)
	}
	args, output := s.args, filepath.Join(b.temp, "peers")
	if s.tool == "go" {
		args = append(slices.Clip(args), output, ".")
	}
	c := exec.CommandContext(ctx, tool, args...)
	c.Dir, c.WaitDelay = folder, patience
	host.Apart(c)
	// Without the workspace the module's own versions count, not those that another module of it asks for.
	c.Env = host.Environment(runtime.NumCPU(), map[string]string{
		"GOWORK": "off", "CARGO_TARGET_DIR": filepath.Join(b.root, filepath.FromSlash(cargoTarget)),
	})
	if said, err := c.CombinedOutput(); err != nil {
		if ctx.Err() != nil || host.Interrupted(err) {
			return nil, unbuilt(interrupted)
		}
		return nil, unbuilt("%s does not build: %s", s.folder, complaint(string(said), err))
	}
	paths := make(map[string]string, len(s.built))
	for subject, path := range s.built {
		paths[subject] = output
		if path != "" {
			paths[subject] = filepath.Join(b.root, filepath.FromSlash(path))
		}
	}
	return paths, nil
}

func unbuilt(format string, args ...any) *document.Reason {
	return &document.Reason{Code: document.NotMeasured, Text: fmt.Sprintf(format, args...)}
}

// complaint is the line of what a program said that tells what is wrong: that of a panic, or else the last. It is the error
// where the program said nothing.
func complaint(said string, err error) string {
	last := ""
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
		if line != "" && !strings.HasPrefix(line, "note: ") {
			last = line
		}
	}
	if last != "" {
		return last
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.String()
	}
	return err.Error()
}
