package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

// streams are where a command reads and writes.
type streams struct {
	in   io.Reader
	out  io.Writer
	errs io.Writer
}

// commands are the commands of the command line. Each has a file of its own.
type commands struct {
	Help    helpFlag       `help:"Show help." short:"h"`
	Shown   versionFlag    `help:"Show the version." name:"version"`
	Demo    demoCommand    `cmd:"" help:"Run an orders service in process and account for every order."`
	Bench   benchCommand   `cmd:"" help:"Measure Wherry, and read what was measured."`
	Explain explainCommand `cmd:"" help:"Say what the consumers of a service guarantee, and what a crash does."`
	Version versionCommand `cmd:"" help:"Show the version."`
	HelpFor helpCommand    `cmd:"" help:"Show help for a command." name:"help"`
}

// command is what the grammar binds to.
type command interface {
	run(ctx context.Context, s streams) int
}

// statusUsage is the exit status of a command line that is wrong.
const statusUsage = 2

// run runs the command that args ask for and returns its exit status. It does not exit, so that tests run in process.
func run(ctx context.Context, args []string, s streams) int {
	var c commands
	k, err := kong.New(&c,
		kong.Name("wherry"),
		kong.Description("Shows what the Wherry toolkit does, and measures it."),
		kong.NoDefaultHelp(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(s.out, s.errs),
	)
	if err != nil {
		fmt.Fprintf(s.errs, "wherry: %v\n", err)
		return statusUsage
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := k.Parse(args)
	switch {
	case errors.Is(err, errHelped):
		return 0
	case err != nil:
		return misused(s, err)
	}
	chosen, ok := reflect.TypeAssert[command](parsed.Selected().Target.Addr())
	if !ok {
		return misused(s, fmt.Errorf("%s is not a command", parsed.Command()))
	}
	return chosen.run(ctx, s)
}

// misused says what is wrong with the command line, and where to read on.
func misused(s streams, err error) int {
	name := "wherry"
	if parse, ok := errors.AsType[*kong.ParseError](err); ok {
		if node := parse.Context.Selected(); node != nil {
			name = node.FullPath()
			if commands := commandsOf(node); len(commands) > 0 {
				err = fmt.Errorf("%w; the commands are %s", err, strings.Join(commands, ", "))
			}
		}
	}
	fmt.Fprintf(s.errs, "%s: %s\nRun '%s --help' for how to use it.\n", name, plainly(err), name)
	return statusUsage
}

// commandsOf are those of a group.
func commandsOf(group *kong.Node) []string {
	var names []string
	for _, child := range group.Children {
		if !child.Hidden {
			names = append(names, child.Name)
		}
	}
	return names
}

// negative is what the parser says of a negative number after a flag, which it takes for another flag.
var negative = regexp.MustCompile(`^(--\S+): expected .* got "(-\d[^"]*)"`)

// plainly is what is wrong with a command line. Numbers of flags are never negative here.
func plainly(err error) string {
	if m := negative.FindStringSubmatch(err.Error()); m != nil {
		return m[1] + " is " + m[2] + ", want 0 or more"
	}
	return err.Error()
}
