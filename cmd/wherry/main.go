// Command wherry shows what the toolkit does: `wherry demo` runs an orders service in process and accounts for every
// order, `wherry bench` measures, and reads what was measured, and `wherry explain` says what consumers guarantee.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], streams{in: os.Stdin, out: os.Stdout, errs: os.Stderr}))
}
