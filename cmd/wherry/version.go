package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// versionCommand shows what was built, with what and for what.
type versionCommand struct{}

func (*versionCommand) run(_ context.Context, s streams) int {
	fmt.Fprintf(s.out, "wherry %s, %s, %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return 0
}

// version is that of the module, which the go command knows: "(devel)" when it was built from a clone.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
