package wherry_test

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// docs/explain.md shows parts of this.
func Example_docsExplain() {
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	explain := flags.Bool("explain", false, "say what the consumers guarantee, and end")
	if err := flags.Parse(nil); err != nil {
		panic(err)
	}
	broker := mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Text{})
	ship := wherry.Func(func(context.Context, string) error { return nil })
	service := wherry.NewRouter("", wherry.Mount(wherry.Consume(wherry.Queue(broker, orders), ship)))

	// After the broker was dialled and the consumers were made, in place of Run:
	if *explain {
		_, err := wherry.Explain(service).WriteTo(os.Stdout)
		fmt.Println(err)
		return
	}

	ctx, stop := context.WithCancel(context.Background())
	stop() // as a signal does
	fmt.Println(service.Run(ctx))
	// Output: <nil>
}
