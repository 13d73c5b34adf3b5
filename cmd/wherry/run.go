package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

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
		}
	}
	fmt.Fprintf(s.errs, "%s: %v\nRun '%s --help' for how to use it.\n", name, err, name)
	return statusUsage
}
