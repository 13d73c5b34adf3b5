// Command guards removes each guard of the code in turn, in a copy, and runs the test that is there to miss it. A guard
// whose test passes without it is a failure: then the test proves nothing, or the guard does.
//
//	go run ./internal/guards [-only text] [-jobs n]
//
// It prints a line per guard and ends with status 1 unless every test failed. Guards are described in files below
// testdata/guards of any package, in the form that parse documents.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"time"
)

func main() {
	only := flag.String("only", "", "run the guards whose file, test or text contains this")
	jobs := flag.Int("jobs", runtime.NumCPU(), "how many run at a time")
	flag.Parse()
	bad, err := here(*only, *jobs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
	}
	if err != nil || bad > 0 {
		os.Exit(1)
	}
}

// here runs the trial of the tree in the working directory. It ends early when it is interrupted.
func here(only string, jobs int) (bad int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := filepath.Abs(".")
	if err != nil {
		return 0, fmt.Errorf("find the tree: %w", err)
	}
	t := trial{root: root, only: only, jobs: jobs, timeout: time.Minute, out: os.Stdout}
	return t.run(ctx)
}
