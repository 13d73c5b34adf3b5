package reach

import (
	"slices"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// A Loss is a cell in which something else is ahead of Wherry.
type Loss struct {
	Part     string // of the document
	Cell     string // Wherry's
	To       string // what is ahead
	Figure   string // in what: the rate, a latency, or a rate that is sustained
	Ratio    string // Wherry's over the other's, with its interval; why there is none of a rate that Wherry did not sustain
	Interval string // what the interval is of
	Decided  bool   // the whole interval is on that side
}

// Losses are all cells of a document in which a library, or a Go channel of the same capacity, was ahead: every ratio of rates
// below 1, every latency of a sustained rate that was longer, and every rate that the other alone sustained. The bare channel is
// no queue, and not here.
func Losses(d *document.Document) []Loss {
	var all []Loss
	for i := range d.Backends {
		b := &d.Backends[i]
		for _, name := range []string{document.MatrixPart, document.PeersPart} {
			p := b.Part(name)
			if p == nil {
				continue
			}
			for _, l := range slices.Concat(slower(p), later(p), behind(p)) {
				l.Part = b.Name + " " + name
				all = append(all, l)
			}
		}
	}
	return all
}

// slower are the ratios of rates.
func slower(p *document.Part) []Loss {
	var all []Loss
	for i := range p.Ratios {
		r := &p.Ratios[i]
		if r.Of.Subject != matrix.Wherry || r.To.Subject == matrix.Wherry || r.To.Subject == matrix.BareChannel || r.Median >= 1 {
			continue
		}
		all = append(all, Loss{
			Cell: charts.Name(&r.Of), To: against(&r.Of, &r.To), Figure: "rate", Ratio: value{r.Low, r.Median, r.High}.text(quantity.Times),
			Interval: r.Interval(), Decided: r.High < 1,
		})
	}
	return all
}

// against names the other of two cells, with its codec where that is another.
func against(of, to *document.Cell) string {
	if of.Codec == to.Codec {
		return charts.Subject(to.Subject)
	}
	return charts.Subject(to.Subject) + ", " + to.Codec
}

// later are the latencies from the send, by which all are stamped.
func later(p *document.Part) []Loss {
	var all []Loss
	for i := range p.Rows {
		of := &p.Rows[i]
		if of.Subject != matrix.Wherry || stands(of) != "" || of.Load.FromSend == nil {
			continue
		}
		for j := range p.Rows {
			to := &p.Rows[j]
			if to.Subject == matrix.Wherry || stands(to) != "" || to.Load.FromSend == nil || !sameRung(&of.Cell, &to.Cell) {
				continue
			}
			one := float64(of.Load.FromSend.P99) / float64(to.Load.FromSend.P99)
			v, runs := ofRuns(one, quotients(of.Load.P99sFromSend, to.Load.P99sFromSend))
			if v.mid <= 1 {
				continue
			}
			all = append(all, Loss{
				Cell: charts.Name(&of.Cell), To: against(&of.Cell, &to.Cell), Figure: "p99 from the send", Ratio: v.text(quantity.Times),
				Interval: rangeOf(runs, "run"), Decided: runs >= fewestRounds && v.low > 1,
			})
		}
	}
	return all
}

// behind are the rates that Wherry was measured at and did not sustain, or has no number of, where something else sustained them.
func behind(p *document.Part) []Loss {
	var all []Loss
	for i := range p.Rows {
		of := &p.Rows[i]
		failed := of.NotShown != nil && of.NotShown.Code == document.Failed
		if of.Subject != matrix.Wherry || stands(of) == "" || of.NotShown != nil && !failed {
			continue
		}
		for j := range p.Rows {
			if to := &p.Rows[j]; to.Subject != matrix.Wherry && stands(to) == "" && sameRung(&of.Cell, &to.Cell) {
				all = append(all, Loss{
					Cell: charts.Name(&of.Cell), To: against(&of.Cell, &to.Cell), Figure: "a rate that is sustained", Ratio: stands(of),
					Decided: !failed,
				})
			}
		}
	}
	return all
}

// sameRung reports whether two cells are the same load, of two subjects.
func sameRung(a, b *document.Cell) bool {
	return a.Flow == b.Flow && a.Payload == b.Payload && a.Consumers == b.Consumers && a.Rate == b.Rate && a.Rate > 0 &&
		slices.Equal([]int{a.Workers, a.Procs}, []int{b.Workers, b.Procs})
}
