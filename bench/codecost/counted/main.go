// Command counted does the work of one scenario once and ends. It is built and run by package codecost, under valgrind for
// its instructions and alone for its allocations, and prints the latter as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/wherryhq/wherry/bench/codecost/scenario"
)

func main() {
	var w scenario.Work
	flag.StringVar(&w.Scenario, "scenario", "", "what is done")
	flag.IntVar(&w.N, "n", 1, "messages that are counted")
	flag.IntVar(&w.Ready, "ready", 0, "messages that wait before the first is handled")
	flag.IntVar(&w.Consumers, "consumers", 1, "handlers at once")
	flag.IntVar(&w.Workers, "workers", 1, "receivers")
	flag.StringVar(&w.Codec, "codec", "bytesview", "how bodies are encoded")
	flag.StringVar(&w.Middleware, "middleware", "", "what stands before the handler")
	flag.IntVar(&w.Times, "times", 1, "how often the middleware stands there")
	allocations := flag.Bool("allocations", false, "print what was allocated, as JSON")
	flag.Parse()

	err := scenario.Run(context.Background(), w, func() {
		if *allocations {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			_ = json.NewEncoder(os.Stdout).Encode(map[string]uint64{"blocks": m.Mallocs, "bytes": m.TotalAlloc})
		}
		os.Exit(0)
	})
	fmt.Fprintln(os.Stderr, "counted:", err)
	os.Exit(1)
}
