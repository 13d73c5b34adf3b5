// Package reach holds what the benchmark is to reach, as data, against the rows of a document: each target names the cells
// that decide it. A target whose rows are missing is not measured, and one whose interval contains the bound is not decided.
package reach

import (
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/quantity"
)

// A Verdict is whether a target was reached.
type Verdict string

// The verdicts.
const (
	Reached     Verdict = "reached"
	NotReached  Verdict = "not reached"
	NotDecided  Verdict = "not decided" // noisy: the interval of the value contains the bound
	NotMeasured Verdict = "not measured"
)

// A Line is one target at one cell.
type Line struct {
	Figure  string // what is to be reached
	Cell    string // where
	Bound   string // as "≥ 1×"
	Value   string // the median with its interval; the reason where it was not measured
	Width   string // half the interval, relative to the median
	Of      string // what the interval is of: rounds, runs
	Verdict Verdict
	Beside  string // what else was measured of the cell: processor time per message
	From    string // the rows that decide
}

// A target is something to reach, with its cells.
type target struct {
	figure string
	lines  func(*document.Backend) []Line
}

// targets are in the order of the page.
var targets = []target{
	{"live, over a Go channel, two processors", overChannel(2, 1)},
	{"live, over a Go channel, one processor", overChannel(1, 0.9)},
	{"live, the lowest rate over the best, by concurrency", flat(0, 0.9)},
	{"live, the lowest rate over the best, by workers", flat(1, 0.75)},
	{"live, instructions per message", liveInstructions},
	{"live, over Watermill's Router", overPeer(document.Live, "watermill-router", "parallel", 0, anyCell, always(50))},
	{"drain, over shove, 64 B", overPeer(document.Drain, "shove", "parallel", 64, drainCells, steps(1.5, 2, 4, 4))},
	{"drain, over shove, 1 KiB", overPeer(document.Drain, "shove", "parallel", 1<<10, drainCells, steps(1.5, 2, 3, 3))},
	{"drain, over shove, 64 KiB", overPeer(document.Drain, "shove", "parallel", 64<<10, drainCells, always(1))},
	{"drain in batches, over shove, 64 B", overPeer(document.Drain, "shove", "batch", 64, []int{2, 4, 8}, always(1.2))},
	{"service, over ruststream, drained on one processor", service(document.Drain, 1, 0.85)},
	{"service, over ruststream, live on two processors", service(document.Live, 2, 1.5)},
	{"a service over the hand loop, JSON 128 B", serviceCost},
	{"each middleware", middlewareCost},
	{"concurrency 4 over one at a time", more(atMost(600, quantity.Whole), "consume-4", "consume-4-json", "consume-4-fastjson")},
	{"a batch over one message at a time", more(bound{less: true, unit: quantity.Whole}, "batch", "batch-json", "batch-fastjson")},
	{"dispatch latency, p99 over shove's, both from the send", latencyOver},
	{"dispatch latency at 100 k/s, p99 from the intended time", latencyAt},
	{"JSON decode of the 128 B body, fastest codec", decode},
	{"in the order of 1,000 keys over in any order, 64 B", sequencedOver},
	{"a message in the order of its key", sequenceBlocks},
	{"in the order of 1,000 keys, over shove, JSON 64 B, live", sequencedOverPeer},
	{"one poisoned key among 1,000, what it costs", poisonedKey},
	{"batches that fill over single messages", batchOver},
	{"batches over single messages, a call of 50 µs, one worker", batchOfCalls},
	{"batches that do not fill, p99 beyond their age", batchAge},
}

// Lines holds every target against a document, in the order of the targets, backend by backend.
func Lines(d *document.Document) []Line {
	var lines []Line
	for i := range d.Backends {
		for _, t := range targets {
			for _, line := range t.lines(&d.Backends[i]) {
				line.Figure = t.figure
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// A bound is what a value is to keep to.
type bound struct {
	most  bool // the value may be at most the limit; else at least
	less  bool // it may not be the limit itself
	limit float64
	unit  func(float64) string
}

func atLeast(limit float64, unit func(float64) string) bound { return bound{limit: limit, unit: unit} }

func atMost(limit float64, unit func(float64) string) bound {
	return bound{most: true, limit: limit, unit: unit}
}

func (b bound) String() string {
	switch {
	case b.less:
		return "< " + b.unit(b.limit)
	case b.most:
		return "≤ " + b.unit(b.limit)
	default:
		return "≥ " + b.unit(b.limit)
	}
}

// keeps reports whether one number keeps to the bound.
func (b bound) keeps(v float64) bool {
	switch {
	case b.less:
		return v < b.limit
	case b.most:
		return v <= b.limit
	default:
		return v >= b.limit
	}
}

// A value is a median with its interval.
type value struct{ low, mid, high float64 }

// text writes a value with its interval, if it has one.
func (v value) text(unit func(float64) string) string {
	if v.low == v.high {
		return unit(v.mid)
	}
	return unit(v.mid) + " (" + unit(v.low) + " to " + unit(v.high) + ")"
}

// judge holds a value against a bound. It is reached only if the whole interval keeps to it.
func (b bound) judge(v value) Verdict {
	switch {
	case b.keeps(v.low) && b.keeps(v.high):
		return Reached
	case !b.keeps(v.low) && !b.keeps(v.high):
		return NotReached
	default:
		return NotDecided
	}
}

// line is a target at a cell that was measured.
func (b bound) line(cell string, v value, beside, from string) Line {
	return Line{
		Cell: cell, Bound: b.String(), Value: v.text(b.unit), Width: v.width(), Verdict: b.judge(v), Beside: beside, From: from,
	}
}

// fewestRounds is how many rounds an interval is made of, at least.
const fewestRounds = 3

// doubted takes the verdict back where the part is a quick run, or where there are too few rounds for an interval.
func (l Line) doubted(p *document.Part, rounds int) Line {
	switch {
	case p.Provenance.Quick:
		l.Verdict, l.Width = NotDecided, "a quick run is no result"
	case rounds == 1:
		l.Verdict, l.Width = NotDecided, "one run has no interval"
	case rounds < fewestRounds:
		l.Verdict, l.Width = NotDecided, "too few runs for an interval"
	}
	return l
}

// width is half the interval, relative to the median, rounded outward.
func (v value) width() string {
	if v.low == v.high || v.mid == 0 {
		return ""
	}
	half := (v.high - v.low) / 2 / v.mid * 100
	return "±" + quantity.Number(quantity.Up(max(half, -half))) + " %"
}

// missing is a target at a cell without a value.
func (b bound) missing(cell, why string) Line {
	return Line{Cell: cell, Bound: b.String(), Value: why, Verdict: NotMeasured}
}
