package wherry_test

import (
	"context"
	"fmt"

	"github.com/wherryhq/wherry"
)

// What runs beside consumers is a function that goes on until its context ends.
func ExampleRunnerFunc() {
	ctx, stop := context.WithCancel(context.Background())
	ticker := wherry.RunnerFunc(func(ctx context.Context) error {
		stop() // as a signal does
		<-ctx.Done()
		return nil
	})
	fmt.Println(wherry.Run(ctx, ticker), wherry.RunnerFunc(nil).Run(ctx))
	// Output: <nil> wherry: run: the function is nil
}
