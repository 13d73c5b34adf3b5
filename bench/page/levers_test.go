package page

import (
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/charts/sample"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

func TestLeversPageHasEveryLever(t *testing.T) {
	t.Parallel()
	page := samplePages(t)["levers.md"]
	for _, title := range []string{
		"## mem: concurrency, the handler does nothing", "## mem: concurrency, the handler computes",
		"## mem: concurrency, the handler waits 1 to 5 ms", "## mem: concurrency, the handler waits 50 to 300 ms",
		"## mem: concurrency, the handler waits for one of 4 slots",
		"## mem: prefetch, the handler does nothing", "## mem: prefetch, the handler does nothing, round trip +1ms",
		"## mem: prefetch, the handler waits 10 ms", "## mem: prefetch, the handler waits 10 ms, round trip +1ms",
		"## mem: workers and concurrency", "## mem: batches, each call of the handler takes 50 µs, bytesview",
		"## mem: batches, each call of the handler takes 50 µs, json", "## mem: order of keys", "## mem: transactions",
	} {
		if n := strings.Count(page, title+"\n"); n != 1 {
			t.Errorf("%q is there %d times", title, n)
		}
	}
	rows := 0
	for i := range sample.Document().Backends[0].Levers.Rows {
		r := &sample.Document().Backends[0].Levers.Rows[i]
		if r.Summary == nil && r.NotShown == nil {
			t.Fatalf("the sample has no value of %+v", r.Cell)
		}
		rows++
	}
	const perHandler, handlers = 4, 5
	if got := strings.Count(page, "\n| ") - strings.Count(page, "\n## "); got != rows+perHandler*handlers {
		t.Errorf("the page has %d lines of tables, want %d of levers and %d of concurrency", got, rows, perHandler*handlers)
	}
}

func TestLeverVerdict(t *testing.T) {
	t.Parallel()
	const nothing = 0
	for _, c := range []struct {
		name    string
		medians []float64 // or nothing
		spread  float64   // of the runs, to both sides
		want    string
	}{
		{"nothing", []float64{100, nothing, nothing}, 0.01, "Fewer than two settings have a value, so nothing can be said."},
		{"does not help", []float64{95, 100, 98}, 0.01, "It does not help: prefetch a is within a tenth of the best."},
		{"stops to help", []float64{10, 95, 100}, 0.01, "It helps up to prefetch b, which has 9.5× of the rate at a."},
		{"helps", []float64{10, 50, 100}, 0.01, "It helps to the end: prefetch c has 10× of the rate at a."},
		{"harms", []float64{100, 90, 50}, 0.01, "It does not help: prefetch a is within a tenth of the best. " +
			"It harms beyond: prefetch c has 0.5× of the rate at a."},
		{"helps and harms", []float64{50, 100, 75}, 0.01, "It helps up to prefetch b, which has 2× of the rate at a. " +
			"It harms beyond: prefetch c has 0.75× of the rate at b."},
		{"one without a value", []float64{nothing, 50, 100}, 0.01, "It helps to the end: prefetch c has 2× of the rate at b."},
		{"runs that overlap", []float64{75, 100, 80}, 0.2, "That it helps cannot be said: the runs at prefetch a and those of the best, b, overlap."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := leverOf(c.medians, c.spread).verdict(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	apart := leverOf([]float64{10, 100}, 0)
	apart.settings[1].row.Runs[0].Round = 7
	if got, want := apart.verdict(), "The rows were not measured in turn, so nothing can be said."; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// leverOf has rows of those medians, measured in one round.
func leverOf(medians []float64, spread float64) *lever {
	l := &lever{title: "t", head: "prefetch"}
	for i, median := range medians {
		r := &document.Row{Cell: document.Cell{Handler: matrix.Zero}}
		if median > 0 {
			r.Summary = &document.Summary{Best: median * (1 + spread), Median: median, Worst: median * (1 - spread)}
			r.Runs = []document.Run{{Round: 3}}
		} else {
			r.NotShown = &document.Reason{Code: document.Failed, Text: "no"}
		}
		l.settings = append(l.settings, setting{string(rune('a' + i)), r})
	}
	return l
}

// TestLeversPageDoubts has a row of one consumer that was slow.
func TestLeversPageDoubts(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	efficiency := 2.4
	for i := range d.Backends[0].Matrix.Rows {
		r := &d.Backends[0].Matrix.Rows[i]
		if r.Flow == matrix.Parallel && r.Handler == matrix.Zero && r.Consumers == 4 && r.Payload == matrix.LeverPayload && r.Codec == matrix.JSON {
			r.Summary.Efficiency = &efficiency
		}
	}
	pages := pagesOf(t, d)
	if !strings.Contains(pages["levers.md"], "| 2.4× (not plausible) |") ||
		!strings.Contains(pages["levers.md"], "the row at 1 was slow when it was measured.") {
		t.Error("levers.md does not doubt an efficiency of 2.4 on two processors")
	}
	if !strings.Contains(pages["rows.md"], "| 2.4× (not plausible) |") {
		t.Error("rows.md does not doubt an efficiency of 2.4 on two processors")
	}
	if !strings.Contains(pages["levers.md"], "Every row: 1 KiB, 4 consumers, a worker each, json, 2 processors.") {
		t.Error("levers.md does not say what the rows of the prefetch have in common")
	}
}
