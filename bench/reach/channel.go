package reach

import (
	"fmt"
	"slices"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// side are the consumers of the rows that stand beside a Go channel.
var side = []int{1, 2, 4, 8, 32}

// overChannel is Wherry's rate over that of a Go channel of the same capacity.
func overChannel(procs int, least float64) func(*document.Backend) []Line {
	return func(b *document.Backend) []Line {
		goal := atLeast(least, quantity.Times)
		var lines []Line
		for _, n := range side {
			lines = append(lines, channelLine(goal, b.Matrix, consumersOf(n), n, procs))
		}
		// The same cells may have been measured once more beside other libraries, and count as well.
		for _, n := range side {
			if find(b.Peers, func(r *document.Row) bool { return isLive(r, matrix.Channel, n, procs) }) != nil {
				lines = append(lines, channelLine(goal, b.Peers, consumersOf(n)+", among the peers", n, procs))
			}
		}
		return lines
	}
}

func channelLine(goal bound, p *document.Part, cell string, consumers, procs int) Line {
	of := find(p, func(r *document.Row) bool { return isLive(r, matrix.Wherry, consumers, procs) })
	to := find(p, func(r *document.Row) bool { return isLive(r, matrix.Channel, consumers, procs) })
	var ratio *document.Ratio
	if of != nil && to != nil {
		ratio = ratioOf(p, func(r *document.Ratio) bool { return r.Of == of.Cell && r.To == to.Cell })
	}
	return ratioLine(goal, p, cell, ratio, of, to)
}

// flat is the lowest median rate over the best, over all consumers: by concurrency, or with a worker for each.
func flat(workers int, least float64) func(*document.Backend) []Line {
	return func(b *document.Backend) []Line {
		goal := atLeast(least, quantity.Times)
		var lines []Line
		for _, procs := range []int{2, 1} {
			cell := fmt.Sprintf("%d processors", procs)
			if procs == 1 {
				cell = "1 processor"
			}
			lines = append(lines, goal.flatLine(b, cell, procs, workers))
		}
		return lines
	}
}

func (b bound) flatLine(backend *document.Backend, cell string, procs, workers int) Line {
	var lowest, best *document.Row
	for _, n := range side {
		r := find(backend.Matrix, func(r *document.Row) bool {
			return r.Method == document.Live && r.Subject == matrix.Wherry && r.Variant == "" && r.Procs == procs &&
				r.Consumers == n && r.Workers == workers*n
		})
		if r == nil || r.Summary == nil {
			return b.missing(cell, consumersOf(n)+": "+why(r))
		}
		if lowest == nil || r.Summary.Median < lowest.Summary.Median {
			lowest = r
		}
		if best == nil || r.Summary.Median > best.Summary.Median {
			best = r
		}
	}
	ratios := byRound(lowest, best)
	if len(ratios) == 0 {
		return b.missing(cell, "its rows have no round in common")
	}
	slices.Sort(ratios)
	v := value{ratios[0], (ratios[(len(ratios)-1)/2] + ratios[len(ratios)/2]) / 2, ratios[len(ratios)-1]}
	line := b.line(cell, v, "", charts.Name(&lowest.Cell)+" over "+consumersOf(best.Consumers)).of(rangeOf(len(ratios), "round"))
	return line.doubted(backend.Matrix, len(ratios))
}

// byRound are the ratios of the rates of runs of the same round.
func byRound(of, to *document.Row) []float64 {
	var ratios []float64
	for i := range of.Runs {
		for j := range to.Runs {
			if of.Runs[i].Round == to.Runs[j].Round && to.Runs[j].Rate() > 0 {
				ratios = append(ratios, of.Runs[i].Rate()/to.Runs[j].Rate())
			}
		}
	}
	return ratios
}
