package main

import (
	"context"
	"errors"

	"github.com/alecthomas/kong"
)

// errHelped ends parsing after help was shown.
var errHelped = errors.New("help was shown")

// helpFlag is the flag of every command that shows its help.
type helpFlag bool

// BeforeReset is called as soon as the flag is seen, whatever else the command line lacks.
func (helpFlag) BeforeReset(c *kong.Context) error {
	if err := c.PrintUsage(false); err != nil {
		return err
	}
	return errHelped
}

// helpCommand is the same as a command.
type helpCommand struct {
	Command []string `arg:"" help:"The command." optional:""`
}

func (h *helpCommand) run(ctx context.Context, s streams) int {
	return run(ctx, append(h.Command, "--help"), s)
}
