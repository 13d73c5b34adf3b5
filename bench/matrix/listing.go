package matrix

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/quantity"
)

// List writes a line for each spec, with the time that its rounds are expected to take where it can be measured, and the sum.
func List(w io.Writer, specs []Spec, expected func(*Spec) time.Duration) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var sum time.Duration
	for i := range specs {
		s := &specs[i]
		switch {
		case s.Missing != "":
			fmt.Fprintf(t, "%s\t%s\t%s: %s\n", s.Method, s.Name(), document.Unsupported, s.Missing)
		default:
			takes := expected(s)
			sum += takes
			fmt.Fprintf(t, "%s\t%s\t%v\n", s.Method, s.Name(), takes.Round(100*time.Millisecond))
		}
	}
	fmt.Fprintf(t, "%s\t\tabout %v\n", quantity.Count(len(specs), "cell"), sum.Round(time.Second))
	return t.Flush()
}
