package wherry_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// docs/explain.md shows parts of this.
func Example_docsExplain() {
	ctx, stop := context.WithCancel(context.Background())
	stop() // as a signal does
	for _, args := range [][]string{{"-explain"}, nil} {
		var out strings.Builder
		err := explained(ctx, args, &out)
		first, rest, _ := strings.Cut(out.String(), "\n  source\n")
		fmt.Println(err, first, rest != "")
	}
	// Output:
	// <nil> orders true
	// <nil>  false
}

func explained(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	explain := flags.Bool("explain", false, "say what the consumers guarantee, and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	ship := wherry.Func(func(context.Context, string) error { return nil })
	service := wherry.NewRouter("", wherry.Mount(wherry.Consume(wherry.Queue(broker, orders), ship)))

	// After the broker was dialled and the consumers were made, in place of Run:
	if *explain {
		_, err := wherry.Explain(service).WriteTo(out)
		return err
	}

	return service.Run(ctx)
}
