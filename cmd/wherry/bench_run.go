package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/codecost"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
	"github.com/wherryhq/wherry/bench/load"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/progress"
	"github.com/wherryhq/wherry/bench/quantity"
	"github.com/wherryhq/wherry/bench/versus"
)

// inProcess is the backend whose results those of code and peers stand beside.
const inProcess = "mem"

// benchRunCommand measures the matrix and the levers of a backend.
type benchRunCommand struct {
	measuring `embed:""`

	Backend string   `arg:"" help:"The backend: mem."`
	Part    []string `help:"What to measure: matrix or levers. Default both." enum:"matrix,levers" default:"matrix,levers"`
}

// Help is shown below the flags' summary.
func (*benchRunCommand) Help() string {
	return `Each run is a process of its own. Its values go into a results document, in the place of those that it had for the
part. A document is of one host, one Go version and one version of Wherry: it is never mixed.

  wherry bench run mem --dry-run
  wherry bench run mem --quick --out quick.json
  wherry bench run mem --only 'flow=parallel payload=1KiB consumers=1,2' --out few.json` + keeps
}

func (c *benchRunCommand) run(ctx context.Context, s streams) int {
	backend, err := matrix.Named(c.Backend)
	if err != nil {
		return misuse(s, err)
	}
	parts := slices.DeleteFunc([]string{document.MatrixPart, document.LeversPart}, func(name string) bool { return !slices.Contains(c.Part, name) })
	all := map[string][]matrix.Spec{document.MatrixPart: matrix.Matrix(backend), document.LeversPart: matrix.Levers(backend)}
	var asked []matrix.Spec
	for _, name := range parts {
		asked = append(asked, all[name]...)
	}
	left, err := matrix.Only(asked, c.Only)
	if err != nil {
		return misuse(s, err)
	}
	var tasks []task
	for _, name := range parts {
		specs := slices.DeleteFunc(all[name], func(s matrix.Spec) bool { return !contains(left, s) })
		if len(specs) > 0 {
			tasks = append(tasks, c.task(backend.Name, name, specs))
		}
	}
	return c.measure(ctx, s, tasks)
}

func contains(specs []matrix.Spec, s matrix.Spec) bool {
	return slices.ContainsFunc(specs, func(other matrix.Spec) bool {
		return other.Cell == s.Cell && other.Method == s.Method && other.Turn == s.Turn
	})
}

func (c *benchRunCommand) task(backend, name string, specs []matrix.Spec) task {
	plan := load.Plan{Backend: backend, Specs: specs, Quick: c.Quick}
	return task{
		backend: backend,
		part:    name,
		cells:   cells(specs),
		origin: host.Part{
			Procs: matrix.Processors, Set: host.Timed(), Codec: codecs(), Broker: backend + ", in the process that consumes",
			Durability: host.None,
		},
		list: func(w io.Writer) error { return matrix.List(w, specs, plan.Expected) },
		run: func(ctx context.Context, meter progress.Meter) ([]document.Row, error) {
			return load.Run(ctx, plan, meter)
		},
		ratios: matrix.Ratios(specs),
	}
}

func cells(specs []matrix.Spec) []document.Cell {
	all := make([]document.Cell, 0, len(specs))
	for i := range specs {
		all = append(all, specs[i].Cell)
	}
	return all
}

// codecs are those of the rows, with their versions.
func codecs() string {
	all := []string{"json is encoding/json of " + runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == fastest {
				all = append(all, "fastjson is on "+dependency.Path+" "+dependency.Version)
			}
		}
	}
	return strings.Join(all, ", ")
}

// fastest is the library below the fastest codec that ships.
const fastest = "github.com/segmentio/encoding"

// benchCodeCommand counts.
type benchCodeCommand struct {
	measuring `embed:""`
}

// Help is shown below the flags' summary.
func (*benchCodeCommand) Help() string {
	return `What a message costs is the slope between N and 2N messages of a process under valgrind, and of its allocations: no
other load on the machine changes it. It needs the go command, valgrind, and a clone of the repository to work in.
--only takes names of scenarios, which --dry-run lists, in words or with hyphens.

  wherry bench code --dry-run
  wherry bench code --only 'live, consume-json' --out few.json` + keeps
}

func (c *benchCodeCommand) run(ctx context.Context, s streams) int {
	scenarios := codecost.Scenarios()
	named, err := scenariosOf(c.Only, scenarios)
	if err != nil {
		return misuse(s, err)
	}
	tree, err := c.tree(ctx)
	if err != nil {
		return fail(s, err)
	}
	options := codecost.Options{Tree: tree, Only: named}
	if c.Quick {
		options.Runs = 1
	}
	if len(options.Only) > 0 {
		scenarios = slices.DeleteFunc(scenarios, func(s codecost.Scenario) bool { return !slices.Contains(options.Only, s.Name) })
	}
	t := task{
		backend: inProcess,
		part:    document.CodePart,
		origin: host.Part{
			Procs: 1, Set: codecost.Environment(), Codec: codecs(), Broker: inProcess + ", in the process that is counted",
			Durability: host.None, Valgrind: true, Tree: tree,
		},
		list: func(w io.Writer) error {
			for _, scenario := range scenarios {
				fmt.Fprintln(w, scenario.Name)
			}
			_, err := fmt.Fprintf(w, "%s, about %v\n", quantity.Count(len(scenarios), "scenario"), options.Expected().Round(time.Second))
			return err
		},
		run: func(ctx context.Context, meter progress.Meter) ([]document.Row, error) {
			return codecost.Run(ctx, options, meter)
		},
	}
	for _, scenario := range scenarios {
		t.cells = append(t.cells, scenario.Cell())
	}
	return c.measure(ctx, s, []task{t})
}

// scenariosOf are the names of the scenarios that a text names, between blanks or commas: with the hyphens that they have, or
// with blanks in their place. The longest name is meant, as "consume json" before "consume".
func scenariosOf(text string, all []codecost.Scenario) ([]string, error) {
	known := func(name string) bool {
		return slices.ContainsFunc(all, func(s codecost.Scenario) bool { return s.Name == name })
	}
	var names []string
	for group := range strings.SplitSeq(text, ",") {
		for words := strings.Fields(group); len(words) > 0; {
			n := len(words)
			for n > 0 && !known(strings.Join(words[:n], "-")) {
				n--
			}
			if n == 0 {
				return nil, fmt.Errorf("there is no scenario %q; --dry-run lists them", words[0])
			}
			names = append(names, strings.Join(words[:n], "-"))
			words = words[n:]
		}
	}
	return names, nil
}

// benchPeersCommand measures peers.
type benchPeersCommand struct {
	measuring `embed:""`
}

// Help is shown below the flags' summary.
func (*benchPeersCommand) Help() string {
	return `The programs of the peers are built first, from a clone of the repository to work in: those in Go by the go command,
those in Rust by cargo. A peer whose tools are missing has that as its reason, and no number.

  wherry bench peers --dry-run
  wherry bench peers --only 'method=live consumers=1 procs=2' --out few.json` + keeps
}

func (c *benchPeersCommand) run(ctx context.Context, s streams) int {
	specs, err := matrix.Only(versus.Cells(), c.Only)
	if err != nil {
		return misuse(s, err)
	}
	tree, err := c.tree(ctx)
	if err != nil {
		return fail(s, err)
	}
	options := versus.Options{Root: tree, Cells: specs, Quick: c.Quick}
	return c.measure(ctx, s, []task{{
		backend: inProcess,
		part:    document.PeersPart,
		cells:   cells(specs),
		origin: host.Part{
			Procs: matrix.Processors, Set: host.Timed(), Codec: codecs() + ", and each peer's own",
			Broker: "each peer's own, in its process", Durability: host.None, Tree: tree,
		},
		list: func(w io.Writer) error { return matrix.List(w, specs, options.Expected) },
		run: func(ctx context.Context, meter progress.Meter) ([]document.Row, error) {
			return versus.Run(ctx, options, meter)
		},
		ratios: versus.Ratios(specs),
	}})
}
