package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/wherryhq/wherry/cmd/wherry/internal/ledger"
)

// maxNamed is how many lost or repeated orders are named.
const maxNamed = 10

// report writes what came of the run, and as its last line the sums. It returns the exit status.
func report(out io.Writer, s *service, shot *snapshot) int {
	v := screen{width: wide}
	fmt.Fprintf(out, "\nafter %s:\n", short(shot.Elapsed))
	cs := columnsWithout("rate", "in flight", "waiting")
	fmt.Fprintln(out, v.row("group", cs, func(c column) string { return c.name }))
	for i := range shot.Groups {
		fmt.Fprintln(out, v.row(shot.Groups[i].Group, cs, func(c column) string { return c.text(&shot.Groups[i]) }))
	}
	if lines := deadLines(shot, 0); len(lines) > 0 {
		fmt.Fprintf(out, "\ndead letters:\n%s\n", strings.Join(lines, "\n"))
	}
	fmt.Fprintln(out)
	if in := s.cfg.Input; in != nil {
		fmt.Fprintf(out, "%s: %d lines, %d of them empty\n", clean(in.name), in.count.Load(), in.empty.Load())
	}
	name(out, "lost", s.ledger.Open(maxNamed), shot.Totals.Open)
	name(out, "duplicated", s.ledger.Duplicated(maxNamed), shot.Totals.Duplicated)
	t := &shot.Totals
	if t.Unknown > 0 {
		fmt.Fprintf(out, "unknown: %d messages were handled that nobody published\n", t.Unknown)
	}
	fmt.Fprintf(out, "published=%d handled=%d retried=%d dead=%d lost=%d duplicated=%d\n",
		t.Published, t.Handled, t.Retried, t.Dead, t.Open, t.Duplicated)
	if t.Open > 0 || t.Unknown > 0 {
		return StatusLost
	}
	return StatusFine
}

// name names orders that something is wrong with.
func name(out io.Writer, what string, accounts []ledger.Account, all int) {
	for _, a := range accounts {
		fmt.Fprintf(out, "%s: %s in %s\n", what, a.ID, strings.Join(a.Groups, ", "))
	}
	if more := all - len(accounts); more > 0 {
		fmt.Fprintf(out, "%s: and %d more\n", what, more)
	}
}
