// Peers runs one subject of the comparison once and prints what came of it as one JSON object: Wherry, Go channels, and
// libraries that do the same work. It is a module of its own, so that nobody else's module graph carries those libraries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/wherryhq/wherry/bench/versus/program"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// run is the program without its process. The status is 2 for flags that are wrong and 1 for a run that failed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := program.Parse(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stdout, "subjects:", strings.Join(names(), ", "))
		return 0
	}
	if err == nil && subjects[o.Subject] == nil {
		err = fmt.Errorf("-subject=%s: one of %s", o.Subject, strings.Join(names(), ", "))
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 2
	}
	runtime.GOMAXPROCS(o.Procs)
	answer, err := measure(ctx, o)
	if err == nil {
		err = answer.Print(stdout)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", o.Subject, err)
		return 1
	}
	return 0
}

// subjects are what can be run, by name.
var subjects = map[string]opener{
	"wherry":           openWherry,
	"go-channel":       openChannel,
	"go-channel-bare":  openBareChannel,
	"watermill":        openWatermill,
	"watermill-router": openWatermillRouter,
	"gocloud":          openGoCloud,
	"benthos":          openBenthos,
}

func names() []string {
	all := make([]string, 0, len(subjects))
	for name := range subjects {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}
