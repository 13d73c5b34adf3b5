package reach

import (
	"math"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/quantity"
)

// scenario is a counted row by its name, or nil.
func scenario(b *document.Backend, name string) *document.Row {
	return find(b.Code, func(r *document.Row) bool { return r.Method == document.Count && r.Scenario() == name })
}

func isCounted(r *document.Row) bool {
	return r != nil && r.NotShown == nil && r.Code != nil && len(r.Code.Runs) > 0
}

// countLine is a target of instructions, of which a row has as many as its amount says.
func countLine(p *document.Part, goal bound, cell string, r *document.Row, amount func(*document.Part, *document.Row) (mid, half float64)) Line {
	if !isCounted(r) {
		return goal.missing(cell, why(r))
	}
	mid, half := amount(p, r)
	return goal.line(cell, value{mid - half, mid, mid + half}, allocations(r.Code),
		"counted, "+charts.Name(&r.Cell)).of(runsOf(r)).doubted(p, len(r.Code.Runs))
}

func all(_ *document.Part, r *document.Row) (mid, half float64) {
	return r.Code.Instructions, r.Code.Instructions * r.Code.Spread
}

func extra(p *document.Part, r *document.Row) (mid, half float64) { return *r.Code.More, p.MoreHalf(r) }

func allocations(c *document.Code) string {
	if text := quantity.Number(c.Allocations); text != "1" {
		return text + " allocations"
	}
	return "1 allocation"
}

// liveInstructions are those of publishing and consuming a message.
func liveInstructions(b *document.Backend) []Line {
	lines := []Line{countLine(b.Code, atMost(700, quantity.Whole), consumersOf(1), scenario(b, "live"), all)}
	for _, n := range side[1:] {
		name := "live-" + strconv.Itoa(n)
		lines = append(lines, countLine(b.Code, atMost(800, quantity.Whole), consumersOf(n), scenario(b, name), all))
	}
	return lines
}

// more is what scenarios take over those that they are compared with.
func more(goal bound, names ...string) func(*document.Backend) []Line {
	return func(b *document.Backend) []Line {
		lines := make([]Line, 0, len(names))
		for _, name := range names {
			lines = append(lines, moreLine(b, name, goal))
		}
		return lines
	}
}

func moreLine(b *document.Backend, name string, goal bound) Line {
	cell := strings.ReplaceAll(name, "-", " ")
	r := scenario(b, name)
	if isCounted(r) && r.Code.More == nil {
		return goal.missing(cell, "the scenario that it is compared with was not counted")
	}
	return countLine(b.Code, goal, cell, r, extra)
}

// serviceCost is what a service takes over the hand loop over the driver: instructions, and allocations.
func serviceCost(b *document.Backend) []Line {
	var lines []Line
	for _, name := range []string{"consume-json", "consume-fastjson"} {
		lines = append(lines, moreLine(b, name, atMost(300, quantity.Whole)), blocksLine(b, name))
	}
	return lines
}

// blocksLine is the target of no more allocations than the scenario that a row is compared with.
func blocksLine(b *document.Backend, name string) Line {
	goal, cell := atMost(0, quantity.Number), strings.ReplaceAll(name, "-", " ")+", more allocations"
	r := scenario(b, name)
	if !isCounted(r) {
		return goal.missing(cell, why(r))
	}
	over := scenario(b, r.Code.Over)
	if !isCounted(over) {
		return goal.missing(cell, why(over))
	}
	lowOf, highOf := blocks(r.Code)
	lowOver, highOver := blocks(over.Code)
	v := value{whole(lowOf - highOver), whole(r.Code.Allocations - over.Code.Allocations), whole(highOf - lowOver)}
	return goal.line(cell, v, "", "counted, "+charts.Name(&r.Cell)).of(runsOf(r)).doubted(b.Code, min(len(r.Code.Runs), len(over.Code.Runs)))
}

// runsOf says that an interval is the spread of the runs of a count.
func runsOf(r *document.Row) string { return "spread of " + quantity.Count(len(r.Code.Runs), "run") }

// blocks are the fewest and the most allocations per message of the runs of a count.
func blocks(c *document.Code) (low, high float64) {
	low = math.Inf(1)
	for _, run := range c.Runs {
		each := float64(run.Blocks2N-run.BlocksN) / float64(run.N)
		low, high = min(low, each), max(high, each)
	}
	return low, high
}

// whole leaves out the blocks that the runtime takes for itself: a few in a run, of thousands of messages.
func whole(allocations float64) float64 {
	const thousandths = 1000
	return math.Round(allocations*thousandths) / thousandths
}

// middlewareCost is what each middleware adds.
func middlewareCost(b *document.Backend) []Line {
	var lines []Line
	find(b.Code, func(r *document.Row) bool {
		if name, ok := strings.CutPrefix(r.Scenario(), "middleware-"); ok && r.Method == document.Count {
			lines = append(lines, middlewareLine(b, name, r), blocksLine(b, r.Scenario()))
		}
		return false
	})
	if lines == nil {
		lines = append(lines, atMost(30, quantity.Whole).missing("each", why(nil)))
	}
	return lines
}

// middlewareLine divides by the number of middlewares in a scenario that is named by it.
func middlewareLine(b *document.Backend, name string, r *document.Row) Line {
	goal := atMost(30, quantity.Whole)
	if !isCounted(r) || r.Code.More == nil {
		return moreLine(b, r.Scenario(), goal)
	}
	times := 1.0
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		times = float64(n)
	}
	mid, half := *r.Code.More/times, b.Code.MoreHalf(r)/times
	line := goal.line("middleware "+strings.ReplaceAll(name, "-", " "), value{mid - half, mid, mid + half}, allocations(r.Code), "counted, "+charts.Name(&r.Cell))
	return line.of(runsOf(r)).doubted(b.Code, len(r.Code.Runs))
}

// decode is what the fastest codec takes to decode the body. It may be more where the service keeps up all the same.
func decode(b *document.Backend) []Line {
	most, cell := 2400.0, "decode fastjson"
	if serviceLine(b, document.Drain, 1, 0.85).Verdict == Reached {
		most, cell = 3000, cell+", with the service over ruststream at ≥ 0.85×"
	}
	return []Line{countLine(b.Code, atMost(most, quantity.Whole), cell, scenario(b, "decode-fastjson"), all)}
}
