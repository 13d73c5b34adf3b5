package charts

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// A field is a part of a cell's identity that a label can name.
type field int

const (
	subject field = iota
	flow
	variant
	payload
	consumers
	workers
	prefetch
	handler
	codec
	offered
	procs
	fieldCount
)

// word writes a field of a cell, or nothing where the cell does not have it.
func (f field) word(c *document.Cell) string {
	switch f {
	case subject:
		return Subject(c.Subject)
	case flow:
		return strings.ReplaceAll(c.Flow, "-", " ")
	case variant:
		return strings.ReplaceAll(c.Variant, "=", " ")
	case payload:
		return given(c.Payload, func(n int) string { return quantity.Size(float64(n)) })
	case consumers:
		return given(c.Consumers, func(n int) string { return quantity.Count(n, "consumer") })
	case workers:
		return workersWord(c)
	case prefetch:
		return given(c.Prefetch, func(n int) string { return "prefetch " + strconv.Itoa(n) })
	case handler:
		if c.Handler == "" {
			return ""
		}
		return c.Handler + " handler"
	case codec:
		return c.Codec
	case offered:
		return given(c.Rate, func(n int) string { return quantity.Rate(float64(n)) + "/s" })
	case procs:
		return given(c.Procs, func(n int) string { return quantity.Count(n, "processor") })
	default:
		return ""
	}
}

// workersWord says how handlers are spread over workers, where they are: one worker for all goes without saying. One handler
// in each is the other lever of concurrency, and has the same word for any number of them, so that its rows make one series.
func workersWord(c *document.Cell) string {
	switch {
	case c.Workers == 0, c.Workers == 1 && c.Consumers > 1:
		return ""
	case c.Workers >= c.Consumers:
		return "a worker each"
	default:
		return fmt.Sprintf("%s of %d", quantity.Count(c.Workers, "worker"), c.Consumers/c.Workers)
	}
}

func given(n int, write func(int) string) string {
	if n == 0 {
		return ""
	}
	return write(n)
}

// subjects are the names of subjects as people write them. Others are written as the document has them.
var subjects = map[string]string{
	matrix.Wherry:      "Wherry",
	matrix.Channel:     "Go channel",
	matrix.BareChannel: "bare Go channel",
	"watermill":        "Watermill",
	"watermill-router": "Watermill Router",
	"gocloud":          "gocloud.dev",
	"benthos":          "Benthos",
}

// Subject is the name of a subject as people write it.
func Subject(s string) string { return cmp.Or(subjects[s], strings.ReplaceAll(s, "-", " ")) }

// label names a cell by the given fields, always in the same order.
func label(c *document.Cell, fields []field) string {
	var words []string
	for _, f := range slices.Compact(slices.Sorted(slices.Values(fields))) {
		if w := f.word(c); w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, ", ")
}

// differing returns the fields in which cells differ and those in which all are alike, without those that are left out.
func differing(cells []*document.Cell, leave ...field) (differ, alike []field) {
	for f := range fieldCount {
		if slices.Contains(leave, f) || len(cells) == 0 {
			continue
		}
		first := f.word(cells[0])
		if slices.ContainsFunc(cells, func(c *document.Cell) bool { return f.word(c) != first }) {
			differ = append(differ, f)
		} else {
			alike = append(alike, f)
		}
	}
	return differ, alike
}

// Facts are what all rows have in common, besides their subject, their flow and their handler.
func Facts(rows []*document.Row) string {
	_, alike := differing(cellsOf(rows), subject, flow, variant, handler)
	if len(rows) == 0 {
		return ""
	}
	return label(&rows[0].Cell, alike)
}

// Name names a cell in full.
func Name(c *document.Cell) string {
	fields := make([]field, 0, fieldCount)
	for f := range fieldCount {
		fields = append(fields, f)
	}
	return label(c, fields)
}
