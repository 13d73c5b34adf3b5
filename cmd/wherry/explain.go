package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wherryhq/wherry/cmd/wherry/internal/demo"
)

// explainCommand explains the consumers of a service that the command contains.
type explainCommand struct {
	Service string `arg:"" enum:"demo" help:"The service: demo."`
	JSON    bool   `help:"Write JSON, with times in nanoseconds." name:"json"`
}

// Help is shown below the flags' summary.
func (*explainCommand) Help() string {
	return `Says of each consumer what it guarantees, what the broker does itself and what is emulated, when failed messages
are tried again, and what a crash at each step does. Nothing runs. A command cannot look into a service of yours:
that prints its own explanation, in one line of Go, as docs/explain.md shows.`
}

func (e *explainCommand) run(ctx context.Context, s streams) int {
	x, err := demo.Explain(ctx)
	if err != nil {
		fmt.Fprintf(s.errs, "wherry explain: %v\n", err)
		return 1
	}
	if !e.JSON {
		_, err = x.WriteTo(s.out)
	} else {
		out := json.NewEncoder(s.out)
		out.SetIndent("", "  ")
		err = out.Encode(x)
	}
	if err != nil {
		fmt.Fprintf(s.errs, "wherry explain: %v\n", err)
		return 1
	}
	return 0
}
