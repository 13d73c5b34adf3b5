// Command guards removes each guard of the code in turn, in a copy, and runs the test that is there to miss it. A guard
// whose test passes without it is a failure: then the test proves nothing, or the guard does.
//
//	go run ./internal/guards [-only text] [-part k/n] [-jobs n]
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
	part := flag.String("part", "1/1", "run every n-th guard from the k-th on, as k/n")
	jobs := flag.Int("jobs", runtime.NumCPU(), "how many run at a time")
	flag.Parse()
	bad, err := here(*only, *part, *jobs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
	}
	if err != nil || bad > 0 {
		os.Exit(1)
	}
}

// here runs the trial of the tree in the working directory. It ends early when it is interrupted.
func here(only, part string, jobs int) (bad int, err error) {
	var k, n int
	if _, err := fmt.Sscanf(part+"\n", "%d/%d\n", &k, &n); err != nil || k < 1 || k > n {
		return 0, fmt.Errorf("-part is %q, want k/n with k from 1 to n", part)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	root, err := filepath.Abs(".")
	if err != nil {
		return 0, fmt.Errorf("find the tree: %w", err)
	}
	t := trial{root: root, only: only, part: k - 1, parts: n, jobs: jobs, timeout: time.Minute, out: os.Stdout}
	return t.run(ctx)
}
