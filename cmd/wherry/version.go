package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"
)

// versionCommand shows what was built, with what and for what.
type versionCommand struct{}

func (*versionCommand) run(_ context.Context, s streams) int {
	fmt.Fprintf(s.out, "wherry %s, %s, %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}

// versionFlag is the same as a flag.
type versionFlag bool

// BeforeReset is called as soon as the flag is seen.
func (versionFlag) BeforeReset(c *kong.Context) error {
	(&versionCommand{}).run(context.Background(), streams{out: c.Stdout})
	return errHelped
}

// version is that of the module, which the go command knows: "(devel)" when it was built from a clone.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
