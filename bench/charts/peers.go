package charts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// isChannel reports whether a subject is a channel of the language.
func isChannel(subject string) bool {
	return subject == matrix.Channel || subject == matrix.BareChannel
}

// sameWork is what cells that may be compared have in common. Subjects do the same work with codecs of their own.
type sameWork struct {
	method  document.Method
	flow    string
	payload int
	handler string
	procs   int
}

func workOf(r *document.Row) sameWork {
	return sameWork{r.Method, r.Flow, r.Payload, r.Handler, r.Procs}
}

// channel compares publishing and consuming at once with a channel: the rates, and Wherry's as a ratio.
func channel(d *document.Document, b *document.Backend) []Figure {
	for _, p := range []*document.Part{b.Matrix, b.Peers} {
		if figures := channelIn(d, b, p); len(figures) > 0 {
			return figures
		}
	}
	return refusal1("channel", b.Name+"-channel", b.Name+": publish and consume at once against a Go channel",
		"The document has no rows of Wherry and of a Go channel that publish and consume at once.")
}

func channelIn(d *document.Document, b *document.Backend, p *document.Part) []Figure {
	live := pick(d, b, p, func(r *document.Row) bool {
		return r.Method == document.Live && (r.Subject == matrix.Wherry || isChannel(r.Subject))
	})
	var figures []Figure
	for _, s := range by(live, workOf) {
		if !s.has(func(r *document.Row) bool { return isChannel(r.Subject) }) {
			continue
		}
		first := s.rows[0]
		suffix := fmt.Sprintf("%s-%d-%dp", slug(first.Flow), first.Payload, first.Procs)
		figures = append(figures, turning(s, byConsumers).rates("channel", b.Name+"-channel-"+suffix,
			b.Name+": live beside a Go channel, "+procs.word(&first.Cell), byConsumers))
	}
	return append(figures, channelRatios(d, b, p)...)
}

func (s selection) has(suits func(*document.Row) bool) bool { return len(s.where(suits).rows) > 0 }

// channelRatios has a chart for each kind of channel and each number of processors: Wherry's rate over the channel's, by
// concurrency.
func channelRatios(d *document.Document, b *document.Backend, p *document.Part) []Figure {
	if p == nil {
		return nil
	}
	type kind struct {
		to    string
		procs int
	}
	var order []kind
	groups := map[kind][]*document.Ratio{}
	for i := range p.Ratios {
		r := &p.Ratios[i]
		if r.Of.Subject != matrix.Wherry || !isChannel(r.To.Subject) {
			continue
		}
		k := kind{r.To.Subject, r.Of.Procs}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], r)
	}
	figures := make([]Figure, 0, len(order))
	for _, k := range order {
		s := selection{doc: d, backend: b, part: p}
		f := s.ratioLines(groups[k], fmt.Sprintf("%s-ratio-%s-%dp", b.Name, slug(k.to), k.procs),
			fmt.Sprintf("%s: rate over that of %s, %s", b.Name, withArticle(k.to), quantity.Count(k.procs, "processor")))
		f.Notes = lacking(d, b, p, k.to, func(r *document.Row) bool { return r.Method == document.Live && r.Procs == k.procs })
		figures = append(figures, f)
	}
	return figures
}

func withArticle(channel string) string {
	if channel == matrix.BareChannel {
		return "a bare Go channel"
	}
	return "a Go channel"
}

// ratioLines draws ratios by concurrency, with the line at one where both are equal.
func (s selection) ratioLines(ratios []*document.Ratio, name, title string) Figure {
	cells := make([]*document.Cell, 0, len(ratios))
	for _, r := range ratios {
		cells = append(cells, &r.Of)
	}
	differ, alike := differing(cells, consumers)
	f := Figure{
		Family: "channel", Name: name, Title: title, Caption: Provenance(&s.doc.Host, &s.part.Provenance),
		Table: ratioTable(ratios),
	}
	f.Sub = "Every cell: " + label(cells[0], without(alike, subject, flow)) +
		". " + intervals(ratios)
	var all []series
	var turns []float64
	values := []float64{1}
	index := map[string]int{}
	for _, r := range ratios {
		key := label(&r.Of, differ)
		i, ok := index[key]
		if !ok {
			i = len(all)
			index[key] = i
			all = append(all, series{label: cmp.Or(key, "one per call"), colour: i})
		}
		p := point{float64(r.Of.Consumers), r.Low, r.Median, r.High}
		all[i].points = append(all[i].points, p)
		values, turns = append(values, p.low, p.high), append(turns, p.x)
	}
	one := 1.0
	f.body = &lines{
		x: leverAxis(byConsumers.title, byConsumers.unit, turns), y: valueAxis("ratio of rates", quantity.Times, values),
		series: all, reference: &one,
	}
	return f
}

// intervals says what the marks of ratios are.
func intervals(ratios []*document.Ratio) string {
	var all []string
	for _, r := range ratios {
		if name := r.Interval(); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return "The median over the rounds of the ratio in each (" + strings.Join(all, "; ") + "). At the dashed line both are equal."
}

func ratioTable(ratios []*document.Ratio) Table {
	t := Table{Head: []string{"of", "to", "low", "median", "high", "rounds"}}
	for _, r := range ratios {
		t.Rows = append(t.Rows, []string{
			Name(&r.Of), Name(&r.To), quantity.Times(r.Low), quantity.Times(r.Median), quantity.Times(r.High),
			quantity.Whole(float64(r.Rounds)),
		})
	}
	return t
}

// peers has a chart for each kind of work that was measured of more than one subject.
func peers(d *document.Document, b *document.Backend) []Figure {
	var figures []Figure
	all := pick(d, b, b.Peers, func(r *document.Row) bool {
		return (r.Method == document.Live || r.Method == document.Drain) && !isPipeline(r)
	})
	for _, s := range by(all, workOf) {
		if !s.has(func(r *document.Row) bool { return r.Subject != matrix.Wherry && !isChannel(r.Subject) }) {
			continue
		}
		w := workOf(s.rows[0])
		name := fmt.Sprintf("%s-peers-%s-%s-%d-%dp", b.Name, w.method, slug(w.flow), w.payload, w.procs)
		title := fmt.Sprintf("%s and its peers: %s, %s, %s", b.Name, flow.word(&s.rows[0].Cell),
			methodWord(w.method), payload.word(&s.rows[0].Cell))
		if len(s.distinct(func(r *document.Row) int { return r.Consumers })) > 1 {
			figures = append(figures, s.rates("peers", name, title, byConsumers))
		} else {
			differ, _ := differing(s.cells())
			figures = append(figures, s.levels("peers", name, title, func(c *document.Cell) string {
				return seriesLabel(c, differ)
			}))
		}
	}
	figures = append(append(figures, peerRatios(d, b)...), peerLatency(d, b)...)
	if len(figures) == 0 {
		return refusal1("peers", b.Name+"-peers", b.Name+" and its peers",
			"The document has no rows of other libraries, measured in the same run.")
	}
	return figures
}

// methodWord says how rows were measured.
func methodWord(m document.Method) string {
	switch m {
	case document.Live:
		return "published and consumed at once"
	case document.Drain:
		return "drained"
	default:
		return string(m)
	}
}

// peerRatios has a chart for each peer: Wherry's rate over the peer's, cell by cell.
func peerRatios(d *document.Document, b *document.Backend) []Figure {
	if b.Peers == nil {
		return nil
	}
	groups := map[string][]*document.Ratio{}
	for i := range b.Peers.Ratios {
		if r := &b.Peers.Ratios[i]; r.Of.Subject == matrix.Wherry {
			groups[r.To.Subject] = append(groups[r.To.Subject], r)
		}
	}
	timed := pick(d, b, b.Peers, func(r *document.Row) bool {
		return (r.Method == document.Live || r.Method == document.Drain) && r.Subject != matrix.Wherry && !isChannel(r.Subject)
	})
	var figures []Figure
	for _, rows := range by(timed, func(r *document.Row) string { return r.Subject }) {
		to := rows.rows[0].Subject
		notes := lacking(d, b, b.Peers, to, func(r *document.Row) bool { return r.Method != document.Offered })
		var f Figure
		if len(groups[to]) > 0 {
			f = ratioBars(d, b, to, groups[to])
		} else {
			f = Figure{
				Family: "peers", Name: ratioName(b, to), Title: ratioTitle(b, to), Caption: Provenance(&d.Host, &b.Peers.Provenance),
				Refusal: strings.Join(append([]string{"No cell of both was measured in turn."}, notes...), " "),
			}
		}
		f.Notes = notes
		figures = append(figures, f)
	}
	return figures
}

func ratioName(b *document.Backend, to string) string { return b.Name + "-ratio-" + slug(to) }
func ratioTitle(b *document.Backend, to string) string {
	return b.Name + ": rate over that of " + Subject(to)
}

// lacking says of the cells that have no value, and would else be in the ratios to a subject, why they have none.
func lacking(d *document.Document, b *document.Backend, p *document.Part, to string, suits func(*document.Row) bool) []string {
	type place struct {
		sameWork

		consumers int
	}
	placeOf := func(r *document.Row) place { return place{workOf(r), r.Consumers} }
	s := pick(d, b, p, func(r *document.Row) bool { return (r.Subject == matrix.Wherry || r.Subject == to) && suits(r) })
	subjects := map[place]map[string]bool{}
	for _, r := range s.rows {
		if subjects[placeOf(r)] == nil {
			subjects[placeOf(r)] = map[string]bool{}
		}
		subjects[placeOf(r)][r.Subject] = true
	}
	both := s.where(func(r *document.Row) bool { return len(subjects[placeOf(r)]) > 1 })
	differ, _ := differing(both.cells())
	return both.lacks(differ)
}

func ratioBars(d *document.Document, b *document.Backend, to string, ratios []*document.Ratio) Figure {
	cells := make([]*document.Cell, 0, len(ratios))
	for _, r := range ratios {
		cells = append(cells, &r.Of)
	}
	differ, alike := differing(cells)
	f := Figure{
		Family: "peers", Name: ratioName(b, to), Title: ratioTitle(b, to),
		Caption: Provenance(&d.Host, &b.Peers.Provenance), Table: ratioTable(ratios),
	}
	f.Sub = sentence(selection{rows: []*document.Row{{Cell: ratios[0].Of}}}.common(alike),
		intervals(ratios))
	one := 1.0
	body := &bars{reference: &one}
	values := []float64{one}
	for _, r := range ratios {
		values = append(values, r.Low, r.High)
		body.rows = append(body.rows, bar{
			label: seriesLabel(&r.Of, differ), readings: []reading{{r.Low, r.Median, r.High, wherryColour}},
			value: quantity.Times(r.Median),
		})
	}
	body.x = valueAxis("ratio of rates", quantity.Times, values)
	f.body = body
	return f
}
