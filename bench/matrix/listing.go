package matrix

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/quantity"
)

// List writes a line for each spec, with the time that its rounds are expected to take, and the sum.
func List(w io.Writer, specs []Spec) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range specs {
		s := &specs[i]
		switch {
		case s.Missing != "":
			fmt.Fprintf(t, "%s\t%s\t%s: %s\n", s.Method, s.Name(), document.Unsupported, s.Missing)
		default:
			fmt.Fprintf(t, "%s\t%s\t%v\n", s.Method, s.Name(), s.Expected().Round(100*time.Millisecond))
		}
	}
	fmt.Fprintf(t, "%s\t\tabout %v\n", quantity.Count(len(specs), "cell"), Expected(specs).Round(time.Second))
	return t.Flush()
}
