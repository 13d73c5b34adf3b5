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
		"## mem: workers and concurrency",
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
	for _, c := range []struct {
		name    string
		medians []float64 // 0 is not shown
		want    string
	}{
		{"nothing", []float64{100, 0, 0}, "Fewer than two settings have a value, so nothing can be said."},
		{"does not help", []float64{95, 100, 98}, "It does not help: prefetch a is within a tenth of the best."},
		{"stops to help", []float64{10, 95, 100}, "It helps up to prefetch b, which has 9.5× of the rate at a."},
		{"helps", []float64{10, 50, 100}, "It helps to the end: prefetch c has 10× of the rate at a."},
		{"harms", []float64{100, 90, 50}, "It does not help: prefetch a is within a tenth of the best. " +
			"It harms beyond: prefetch c has 0.5× of the rate at a."},
		{"helps and harms", []float64{50, 100, 75}, "It helps up to prefetch b, which has 2× of the rate at a. " +
			"It harms beyond: prefetch c has 0.75× of the rate at b."},
		{"one without a value", []float64{0, 50, 100}, "It helps to the end: prefetch c has 2× of the rate at b."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := &lever{title: "t", head: "prefetch"}
			for i, median := range c.medians {
				r := &document.Row{Cell: document.Cell{Handler: matrix.Zero}}
				if median > 0 {
					r.Summary = &document.Summary{Median: median}
				} else {
					r.NotShown = &document.Reason{Code: document.Failed, Text: "no"}
				}
				l.settings = append(l.settings, setting{string(rune('a' + i)), r})
			}
			if got := l.verdict(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
