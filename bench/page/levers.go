package page

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// near is the share of the best rate from which more of a lever is said not to help: rounds differ by as much.
const near = 0.9

// levers is the page of what each lever did, for whoever tunes a service.
func levers(c *content) (string, error) {
	var b strings.Builder
	b.WriteString("# What the levers do\n\n" +
		"What was measured while one lever was turned, and from where on it stopped to help: from there the rate stays within a tenth of " +
		"the best. [Tuning](../tuning.md) says which lever to turn first. Back to [the results](README.md).\n\n" +
		"Figures compare within a table: its rows were measured in turn. Those of another table are of other minutes, and the same cell " +
		"may stand in two with another figure. What is said of a lever is said of one table, and only where the runs of two rows do not " +
		"overlap.\n\n")
	if c.doc == nil {
		b.WriteString(c.absent + "\n")
		return b.String(), nil
	}
	for i := range c.doc.Backends {
		k := &c.doc.Backends[i]
		for _, l := range leversOf(k) {
			fmt.Fprintf(&b, "## %s: %s\n\n%s\n\n%s\n%s", k.Name, l.title, l.verdict(), l.table(), l.facts())
		}
	}
	return b.String(), nil
}

// A lever is rows that differ in one thing, in ascending order of that.
type lever struct {
	title    string
	head     string // of its settings
	settings []setting
	more     []column
	costs    bool // it is turned for what it gives, and not for its rate
}

type setting struct {
	name string
	row  *document.Row
}

// A column is something that matters besides the rate.
type column struct {
	head string
	of   func(r *document.Row) string
}

var (
	cpuColumn        = column{"CPU per message", func(r *document.Row) string { return quantity.Duration(r.Summary.CPU) }}
	peakColumn       = column{"peak memory", func(r *document.Row) string { return quantity.Size(float64(r.Summary.PeakRSS)) }}
	efficiencyColumn = column{"efficiency", efficiency}
	busiestColumn    = column{"the busiest worker had", func(r *document.Row) string {
		if r.Extra == nil {
			return ""
		}
		return percent(r.Extra.BusiestShare)
	}}
	stopColumn = column{"time to stop", func(r *document.Row) string {
		if r.Extra == nil {
			return ""
		}
		return quantity.Duration(float64(r.Extra.StopNS))
	}}
)

// leversOf are those that a backend has rows of.
func leversOf(k *document.Backend) []*lever {
	g := &grouped{of: map[string]*lever{}}
	if k.Matrix != nil {
		for i := range k.Matrix.Rows {
			g.concurrency(&k.Matrix.Rows[i])
		}
	}
	if k.Levers != nil {
		for i := range k.Levers.Rows {
			g.prefetch(&k.Levers.Rows[i])
		}
		for i := range k.Levers.Rows {
			g.shape(&k.Levers.Rows[i])
		}
		for i := range k.Levers.Rows {
			g.calls(&k.Levers.Rows[i])
		}
		for i := range k.Levers.Rows {
			g.order(&k.Levers.Rows[i])
		}
		for i := range k.Levers.Rows {
			g.transactions(&k.Levers.Rows[i])
		}
	}
	return g.all
}

// grouped are levers in the order in which the document has them.
type grouped struct {
	all []*lever
	of  map[string]*lever
}

func (g *grouped) add(title, head, name string, r *document.Row, more ...column) {
	l := g.of[title]
	if l == nil {
		l = &lever{title: title, head: head, more: more}
		g.of[title] = l
		g.all = append(g.all, l)
	}
	l.settings = append(l.settings, setting{name, r})
}

// concurrency takes the rows of each kind of handler.
func (g *grouped) concurrency(r *document.Row) {
	if r.Method == document.Drain && r.Flow == matrix.Parallel && r.Payload == matrix.LeverPayload && r.Codec == matrix.JSON {
		g.add("concurrency, "+handlerText(r.Handler), "concurrency", strconv.Itoa(r.Consumers), r,
			efficiencyColumn, cpuColumn, peakColumn)
	}
}

func (g *grouped) prefetch(r *document.Row) {
	if r.Prefetch > 0 {
		title := "prefetch, " + handlerText(r.Handler)
		if r.Variant != "" {
			title += ", " + strings.ReplaceAll(r.Variant, "round-trip=", "round trip ")
		}
		g.add(title, "prefetch", strconv.Itoa(r.Prefetch), r, busiestColumn, peakColumn, stopColumn)
	}
}

func (g *grouped) shape(r *document.Row) {
	if r.Prefetch == 0 && r.Workers > 0 {
		g.add("workers and concurrency", "workers × concurrency", fmt.Sprintf("%d × %d", r.Workers, r.Consumers/r.Workers), r,
			cpuColumn, peakColumn)
	}
}

// calls takes batches and single messages of a handler whose call takes a while.
func (g *grouped) calls(r *document.Row) {
	if r.Handler == matrix.Call {
		g.add("batches, "+handlerText(r.Handler)+", "+r.Codec, "flow", r.Flow, r, cpuColumn, peakColumn)
	}
}

// order takes sequences beside messages in any order, and with a key that fails.
func (g *grouped) order(r *document.Row) {
	if r.Prefetch > 0 || r.Workers > 0 || r.Handler != matrix.Zero || r.Consumers == 1 {
		return
	}
	name := "any"
	switch {
	case r.Variant == matrix.PoisonedKey:
		name = "by key, one fails"
	case r.Flow == matrix.Sequence:
		name = "by key"
	}
	g.add("order of keys", "order", name, r, cpuColumn, peakColumn)
	g.of["order of keys"].costs = true
}

// transactions takes what is handled one by one, in batches and in transactions.
func (g *grouped) transactions(r *document.Row) {
	if r.Prefetch > 0 || r.Workers > 0 || r.Handler != matrix.Zero || r.Consumers != 1 {
		return
	}
	const title = "transactions"
	g.add(title, "flow", r.Flow, r, cpuColumn, peakColumn)
	g.of[title].costs = true
}

// handlerText is what a handler does.
func handlerText(handler string) string {
	switch handler {
	case matrix.Zero:
		return "the handler does nothing"
	case matrix.Wait:
		return "the handler waits 1 to 5 ms"
	case matrix.Slow:
		return "the handler waits 50 to 300 ms"
	case matrix.Sleep:
		return "the handler waits 10 ms"
	case matrix.Compute:
		return "the handler computes"
	case matrix.Limited:
		return "the handler waits for one of 4 slots"
	case matrix.Call:
		return "each call of the handler takes 50 µs"
	default:
		return "handler " + handler
	}
}

// efficiency writes that of a row, if it has one, and marks one that cannot be.
func efficiency(r *document.Row) string {
	switch {
	case r.Summary.Efficiency == nil:
		return ""
	case matrix.Implausible(r):
		return quantity.Times(*r.Summary.Efficiency) + " (not plausible)"
	default:
		return quantity.Times(*r.Summary.Efficiency)
	}
}

// facts are what all rows of a lever have in common, and what is not to be believed.
func (l *lever) facts() string {
	rows := make([]*document.Row, 0, len(l.settings))
	doubtful := false
	for _, s := range l.settings {
		rows = append(rows, s.row)
		doubtful = doubtful || matrix.Implausible(s.row)
	}
	text := "Every row: " + charts.Facts(rows) + ".\n\n"
	if doubtful {
		text += "An efficiency above the number of processors is not plausible: the row at 1 was slow when it was measured.\n\n"
	}
	return text
}

// verdict says what turning the lever did, by the medians of rows that were measured in turn, where their runs do not overlap.
func (l *lever) verdict() string {
	var with []setting
	for _, s := range l.settings {
		if s.row.Summary != nil && s.row.Summary.Median > 0 {
			with = append(with, s)
		}
	}
	if len(with) < 2 {
		return "Fewer than two settings have a value, so nothing can be said."
	}
	for _, s := range with[1:] {
		if !inTurn(with[0].row, s.row) {
			return "The rows were not measured in turn, so nothing can be said."
		}
	}
	if l.costs {
		return l.cost(with)
	}
	best := with[0]
	for _, s := range with {
		if s.median() > best.median() {
			best = s
		}
	}
	first, last := with[0], with[len(with)-1]
	enough := with[slices.IndexFunc(with, func(s setting) bool { return s.name == best.name || !best.beats(s) })]
	var text string
	switch {
	case enough == first && first.median() >= near*best.median():
		text = fmt.Sprintf("It does not help: %s is within a tenth of the best.", l.named(first))
	case enough == first:
		text = fmt.Sprintf("That it helps cannot be said: the runs at %s and those of the best, %s, overlap.", l.named(first), best.name)
	case enough == last:
		text = fmt.Sprintf("It helps to the end: %s has %s of the rate at %s.", l.named(last), quantity.Times(last.over(first)), first.name)
	default:
		text = fmt.Sprintf("It helps up to %s, which has %s of the rate at %s.", l.named(enough), quantity.Times(enough.over(first)), first.name)
	}
	if best.beats(last) {
		text += fmt.Sprintf(" It harms beyond: %s has %s of the rate at %s.", l.named(last), quantity.Times(last.over(best)), best.name)
	}
	return text
}

// cost says what each setting leaves of the rate of the one before it.
func (l *lever) cost(with []setting) string {
	words := make([]string, 0, len(with))
	for i, s := range with[1:] {
		before := with[i]
		text := fmt.Sprintf("%s has %s of the rate of %s", l.named(s), quantity.Times(s.over(before)), before.name)
		if !s.beats(before) && !before.beats(s) {
			text += ", which is within a tenth or within the runs"
		}
		words = append(words, text)
	}
	return "By their medians, " + strings.Join(words, "; ") + "."
}

// beats reports whether a row is faster than another by more than a tenth, and in each of its runs.
func (s setting) beats(other setting) bool {
	return other.median() < near*s.median() && other.row.Summary.Best < s.row.Summary.Worst
}

// inTurn reports whether two rows have a round in common.
func inTurn(a, b *document.Row) bool {
	return slices.ContainsFunc(a.Runs, func(one document.Run) bool {
		return slices.ContainsFunc(b.Runs, func(other document.Run) bool { return one.Round == other.Round })
	})
}

func (l *lever) named(s setting) string { return l.head + " " + s.name }

func (s setting) median() float64            { return s.row.Summary.Median }
func (s setting) over(other setting) float64 { return s.median() / other.median() }

func (l *lever) table() string {
	t := charts.Table{Head: []string{l.head, "worst, msg/s", "median, msg/s", "best, msg/s"}}
	for _, c := range l.more {
		t.Head = append(t.Head, c.head)
	}
	for _, s := range l.settings {
		row := []string{s.name}
		switch {
		case s.row.Summary != nil:
			row = append(row, quantity.Rate(s.row.Summary.Worst), quantity.Rate(s.row.Summary.Median), quantity.Rate(s.row.Summary.Best))
			for _, c := range l.more {
				row = append(row, c.of(s.row))
			}
		case s.row.NotShown != nil:
			row = append(row, "n/s: "+charts.Reason(s.row.NotShown))
		default:
			row = append(row, "n/s")
		}
		for len(row) < len(t.Head) {
			row = append(row, "")
		}
		t.Rows = append(t.Rows, row)
	}
	return markdown(&t)
}
