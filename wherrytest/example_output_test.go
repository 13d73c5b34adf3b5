package wherrytest_test

import (
	"context"
	"fmt"
	"testing"
)

// exampleTest is the test of an example: it prints what it reports.
func exampleTest() (tb testing.TB, end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	f := &fake{name: "Example", context: func() context.Context { return ctx }, cancel: cancel}
	return f, func() {
		f.cleanUp()
		for _, m := range f.messages {
			fmt.Println(m)
		}
	}
}
