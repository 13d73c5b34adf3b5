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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := filepath.Abs(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
	t := trial{root: root, only: *only, jobs: *jobs, timeout: time.Minute, out: os.Stdout}
	bad, err := t.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
	if bad > 0 {
		os.Exit(1)
	}
}
