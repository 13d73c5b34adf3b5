package charts

import (
	"fmt"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// peerLatency has a chart for each kind of offered load that a peer was measured with: the 99th percentile by rate, as the
// peer stamps it, from the send, and Wherry's from the intended time beside.
func peerLatency(d *document.Document, b *document.Backend) []Figure {
	all := pick(d, b, b.Peers, func(r *document.Row) bool { return r.Method == document.Offered })
	var figures []Figure
	for _, s := range by(all, workOf) {
		for _, n := range by(s, func(r *document.Row) int { return r.Consumers }) {
			if n.has(func(r *document.Row) bool { return r.Subject != matrix.Wherry }) {
				figures = append(figures, n.p99ByRate(b))
			}
		}
	}
	return figures
}

func (s selection) p99ByRate(b *document.Backend) Figure {
	first := &s.rows[0].Cell
	differ, alike := differing(s.cells(), offered, codec)
	f := s.figure("peers", fmt.Sprintf("%s-peers-latency-%s-%d-%d", b.Name, slug(first.Flow), first.Payload, first.Consumers),
		b.Name+" and its peers: latency by offered rate", append(differ, offered), alike)
	f.Sub = sentence(f.Sub, "The p99 from the send, as peers stamp it; Wherry's from the intended time beside.")
	f.Table = Table{Head: []string{"cell", "reached", "p99 from the send", "p99 from the intended time", "pacer late, p99"}}
	var all []series
	var values, turns []float64
	add := func(name string, r *document.Row, ns int64) {
		v := float64(ns)
		values, turns = append(values, v), append(turns, float64(r.Rate))
		p := point{float64(r.Rate), v, v, v}
		for i := range all {
			if all[i].label == name {
				all[i].points = append(all[i].points, p)
				return
			}
		}
		all = append(all, series{label: name, colour: len(all), points: []point{p}})
	}
	for _, r := range s.rows {
		cell := label(&r.Cell, append(differ, offered))
		if r.NotShown != nil || r.Load == nil || !r.Load.Sustained || r.Load.FromSend == nil {
			if r.NotShown == nil && r.Load != nil {
				f.Notes = append(f.Notes, "n/s: "+cell+": "+withheld(r.Load))
			}
			f.Table.Rows = append(f.Table.Rows, []string{cell, reachedShare(r), "n/s", "n/s", "n/s"})
			continue
		}
		name := label(&r.Cell, differ)
		add(name+", send", r, r.Load.FromSend.P99)
		intended := "n/s"
		if r.Load.Latency == nil {
			f.Notes = append(f.Notes, "n/s: "+cell+", from the intended time: "+withheld(r.Load))
		} else {
			intended = p99(r)
			if r.Subject == matrix.Wherry {
				add(name+", intended", r, r.Load.Latency.P99)
			}
		}
		f.Table.Rows = append(f.Table.Rows, []string{
			cell, reachedShare(r), quantity.Duration(float64(r.Load.FromSend.P99)), intended, lateness(r),
		})
	}
	if len(values) == 0 {
		f.Refusal = "No rate was sustained: percentiles of a load that is not sustained are those of a backlog, and withheld."
		return f
	}
	f.body = &lines{
		x: leverAxis(byRate.title, byRate.unit, turns), y: valueAxis("latency, p99", quantity.Duration, values), series: all,
	}
	return f
}
