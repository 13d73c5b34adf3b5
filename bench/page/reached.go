package page

import (
	"strings"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/reach"
)

// reached is the page of what is to be reached.
func reached(c *content) (string, error) {
	var b strings.Builder
	b.WriteString("# What is to be reached\n\n" +
		"Targets that were set before the figures were measured, each with the cells that decide it. The value is a median with its " +
		"interval: of a ratio the 95 % bootstrap interval over the rounds, which of five rounds or fewer is the lowest and the highest of " +
		"them; of a latency the lowest and the highest run; of a count the spread of its runs. A target is\n\n" +
		"- **reached** where the whole interval keeps to it,\n" +
		"- **not reached** where none of the interval does, or the rate was not sustained,\n" +
		"- **not decided** where the interval contains the bound: the row is too noisy, and its width and what else was counted are all that " +
		"can be said; and where the run was a quick one, or too few of them were made for an interval,\n" +
		"- **not measured** where a row is missing or has no value.\n\n" +
		"[Where it loses](#where-it-loses) is at the end. Back to [the results](README.md).\n\n")
	if c.doc == nil {
		b.WriteString(c.absent + "\n")
		return b.String(), nil
	}
	var t charts.Table
	figure := ""
	flush := func() {
		if len(t.Rows) > 0 {
			b.WriteString("## " + title(figure) + "\n\n" + markdown(&t) + "\n")
		}
	}
	for _, line := range reach.Lines(c.doc) {
		if line.Figure != figure {
			flush()
			figure = line.Figure
			t = charts.Table{
				Head:  []string{"cell", "to reach", "measured", "width", "interval", "verdict", "beside it", "from"},
				Words: true,
			}
		}
		t.Rows = append(t.Rows, []string{
			line.Cell, line.Bound, line.Value, line.Width, line.Of, string(line.Verdict), line.Beside, line.From,
		})
	}
	flush()
	b.WriteString(losses(c.doc))
	return b.String(), nil
}

// losses are all cells in which something else is ahead.
func losses(d *document.Document) string {
	t := charts.Table{Head: []string{"part", "cell", "ahead is", "in", "Wherry over it", "interval", "decided"}, Words: true}
	for _, l := range reach.Losses(d) {
		decided := "no"
		if l.Decided {
			decided = "yes"
		}
		t.Rows = append(t.Rows, []string{l.Part, l.Cell, l.To, l.Figure, l.Ratio, l.Interval, decided})
	}
	text := "## Where it loses\n\n" +
		"Every cell of the document in which another library, or a Go channel of the same capacity, is ahead, whether or not a target is " +
		"about it. A loss is decided where the whole interval is on that side, and where a rate was not sustained that the other " +
		"sustains. The bare channel, which is a floor and no queue, is in [the results](README.md).\n\n"
	if len(t.Rows) == 0 {
		return text + "There is none.\n"
	}
	return text + markdown(&t) + "\n"
}

// title begins a text with a capital.
func title(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
