package reach

import (
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

var (
	drainCells = []int{1, 2, 4, 8}
	anyCell    []int // whatever was measured
)

// always is the same bound at every number of consumers.
func always(limit float64) func(int) float64 { return func(int) float64 { return limit } }

// steps are the bounds at 1, 2, 4 and 8 consumers.
func steps(limits ...float64) func(int) float64 {
	return func(consumers int) float64 {
		for i, n := range drainCells {
			if n == consumers {
				return limits[i]
			}
		}
		return limits[len(limits)-1]
	}
}

// overPeer is Wherry's rate over a peer's, at each number of consumers. A payload of zero is any.
func overPeer(
	method document.Method, peer, flow string, payload int, consumers []int, least func(int) float64,
) func(*document.Backend) []Line {
	return func(b *document.Backend) []Line {
		suits := func(r *document.Row, subject string, n int) bool {
			return r.Method == method && r.Subject == subject && r.Flow == flow && (payload == 0 || r.Payload == payload) &&
				(n == 0 || r.Consumers == n) && r.Workers == 0
		}
		cells := consumers
		if cells == nil {
			cells = consumersMeasured(b.Peers, func(r *document.Row) bool { return suits(r, peer, 0) })
		}
		if len(cells) == 0 {
			return []Line{atLeast(least(0), quantity.Times).missing("any", why(nil))}
		}
		lines := make([]Line, 0, len(cells))
		for _, n := range cells {
			of := func(r *document.Row) bool { return suits(r, matrix.Wherry, n) && fastest(b.Peers, r) }
			to := func(r *document.Row) bool { return suits(r, peer, n) }
			lines = append(lines, peerLine(atLeast(least(n), quantity.Times), b.Peers, consumersOf(n), of, to))
		}
		return lines
	}
}

// peerLine is a target of the ratio of two rows of the peers.
func peerLine(goal bound, p *document.Part, cell string, of, to func(*document.Row) bool) Line {
	ratio := ratioOf(p, func(r *document.Ratio) bool {
		a, b := rowOf(p, r.Of), rowOf(p, r.To)
		return a != nil && b != nil && of(a) && to(b)
	})
	return ratioLine(goal, p, cell, ratio, find(p, of), find(p, to))
}

// fastest reports whether no other row of the same work has a faster codec than this one.
func fastest(p *document.Part, r *document.Row) bool {
	if r.Codec != matrix.JSON {
		return true
	}
	cell := r.Cell
	cell.Codec = matrix.FastJSON
	return rowOf(p, cell) == nil
}

func consumersMeasured(p *document.Part, suits func(*document.Row) bool) []int {
	var all []int
	seen := map[int]bool{}
	find(p, func(r *document.Row) bool {
		if suits(r) && !seen[r.Consumers] {
			seen[r.Consumers] = true
			all = append(all, r.Consumers)
		}
		return false
	})
	return all
}

// service is the JSON service of 128 B over ruststream's.
func service(method document.Method, procs int, least float64) func(*document.Backend) []Line {
	return func(b *document.Backend) []Line {
		return []Line{serviceLine(b, method, procs, least)}
	}
}

func serviceLine(b *document.Backend, method document.Method, procs int, least float64) Line {
	suits := func(r *document.Row, subject string) bool {
		return r.Method == method && r.Subject == subject && r.Flow == "service" && r.Procs == procs
	}
	return peerLine(atLeast(least, quantity.Times), b.Peers, "128 B",
		func(r *document.Row) bool { return suits(r, matrix.Wherry) && fastest(b.Peers, r) },
		func(r *document.Row) bool { return suits(r, "ruststream") })
}
