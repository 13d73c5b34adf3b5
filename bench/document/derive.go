package document

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A rung is sustained when its producer reached this share of the rate, and the lag never passed one in lagShare of what
// was published.
const (
	reachedShare = 0.95
	lagShare     = 20
)

// Derive sets every value of a part that follows from others: summaries, ratios, slopes, verdicts and seals. What a row
// without a value has of them is removed, and so is a ratio whose rows have no round in common: those rows say why.
// Whoever measures fills in what was counted and timed, and calls it, or leaves it to [Document.Merge].
func (p *Part) Derive() {
	if p.Provenance.Environment == nil {
		p.Provenance.Environment = map[string]string{}
	}
	if p.Rows == nil {
		p.Rows = []Row{}
	}
	p.derive()
	p.Ratios = slices.DeleteFunc(p.Ratios, func(r Ratio) bool { return r.Rounds == 0 })
	for i := range p.Rows {
		p.Rows[i].Seal = sealedText(p.Rows[i].facts())
	}
	p.Seal = sealedText(p.facts())
}

// derive is Derive without what cannot be undone: seals, and the removal of ratios.
func (p *Part) derive() {
	for i := range p.Rows {
		p.Rows[i].derive()
	}
	for i := range p.Rows {
		p.deriveAmong(&p.Rows[i])
	}
	for i, ratio := range p.Ratios {
		p.Ratios[i] = p.ratio(ratio.Of, ratio.To)
	}
}

// Derive sets every value of a document that follows from others, and brings its backends into order.
func (d *Document) Derive() {
	d.Schema = Schema
	if d.Backends == nil {
		d.Backends = []Backend{}
	}
	d.Host.Seal = sealedText(d.Host.facts())
	slices.SortFunc(d.Backends, func(a, b Backend) int { return strings.Compare(a.Name, b.Name) })
	for i := range d.Backends {
		for _, part := range d.Backends[i].parts() {
			part.Derive()
		}
	}
}

// derive sets what follows from the row alone.
func (r *Row) derive() {
	r.Summary = nil
	for i := range r.Runs {
		r.Runs[i].Ledger.derive()
	}
	if len(r.Runs) > 0 {
		r.Summary = summary(r.Runs)
	}
	if r.Load != nil {
		r.Load.derive(r.Rate)
	}
	if r.Code != nil {
		r.Code.derive()
	}
}

// deriveAmong sets what follows from the row and others of its part, which have been derived alone.
func (p *Part) deriveAmong(r *Row) {
	if r.Summary != nil {
		if one := p.alone(r); one != nil && one.Median > 0 {
			efficiency := rounded(r.Summary.Median / one.Median)
			r.Summary.Efficiency = &efficiency
		}
	}
	if r.Code != nil {
		r.Code.More = nil
		if over := p.over(r); over != nil && over.Code != nil {
			more := rounded(r.Code.Instructions - over.Code.Instructions)
			r.Code.More = &more
		}
	}
}

func (l *Ledger) derive() { l.Lost = l.Published - l.Handled }

// Rate is the messages per second of a run.
func (r *Run) Rate() float64 { return per(r.Messages, r.ElapsedNS) }

// per is a count in a time, per second.
func per(count, ns int64) float64 {
	if ns <= 0 {
		return 0
	}
	return float64(count) * 1e9 / float64(ns)
}

func summary(runs []Run) *Summary {
	rates := make([]float64, 0, len(runs))
	cpu := make([]float64, 0, len(runs))
	var peak int64
	for i := range runs {
		rates = append(rates, runs[i].Rate())
		cpu = append(cpu, float64(runs[i].CPUNS)/float64(max(runs[i].Messages, 1)))
		peak = max(peak, runs[i].PeakRSS)
	}
	best, worst := slices.Max(rates), slices.Min(rates)
	return &Summary{
		Best:         rounded(best),
		Median:       rounded(median(rates)),
		Worst:        rounded(worst),
		CPU:          rounded(median(cpu)),
		PeakRSS:      peak,
		SpreadFactor: rounded(best / worst),
	}
}

// alone is the summary of the same cell at one consumer.
func (p *Part) alone(r *Row) *Summary {
	cell := r.Cell
	cell.Consumers = 1
	if one := p.Row(cell); one != nil && one.Method == r.Method {
		return one.Summary
	}
	return nil
}

func (l *Load) derive(rate int) {
	l.Ledger.derive()
	l.Reached = rounded(per(l.Published, l.PublishNS) / float64(max(rate, 1)))
	l.Sustained = l.Reached >= reachedShare && l.PeakLag <= l.Published/lagShare
	if !l.Sustained {
		l.Latency, l.FromSend, l.Withheld, l.P99sFromSend, l.P99s = nil, nil, nil, nil, nil
	}
}

// PacerTooLate reports whether the pacer's own lateness is more than a tenth of the latency from the intended time, which is
// then as much the pacer's as anybody's.
func (l *Load) PacerTooLate() bool {
	return l.Latency != nil && l.Lateness != nil && l.Lateness.P99*tenth > l.Latency.P99
}

// Withhold takes the latency from the intended time from a load whose pacer was too late. That from the send is not the
// pacer's, and stays.
func (l *Load) Withhold() {
	l.Withheld = &Reason{PacerTooLate, fmt.Sprintf("the pacer was late by %v at p99, more than a tenth of the latency of %v",
		time.Duration(l.Lateness.P99), time.Duration(l.Latency.P99))}
	l.Latency, l.P99s = nil, nil
}

// scheduled is how many messages a rate makes from the first to the last intended time.
func (l *Load) scheduled(rate int) float64 { return float64(l.ScheduledNS)*float64(rate)/1e9 + 1 }

func (c *Code) derive() {
	c.Instructions, c.Spread, c.Allocations, c.Bytes = 0, 0, 0, 0
	if len(c.Runs) == 0 {
		return
	}
	instructions := make([]float64, 0, len(c.Runs))
	for _, run := range c.Runs {
		instructions = append(instructions, run.slope(run.InstrN, run.Instr2N))
		c.Allocations = max(c.Allocations, rounded(run.slope(run.BlocksN, run.Blocks2N)))
		c.Bytes = max(c.Bytes, rounded(run.slope(run.BytesN, run.Bytes2N)))
	}
	half := (slices.Max(instructions) - slices.Min(instructions)) / 2
	middle := median(instructions)
	c.Instructions = rounded(middle)
	c.Spread = rounded(half / math.Abs(middle))
}

// slope is what each of the second N messages added.
func (r *CodeRun) slope(atN, at2N int64) float64 { return float64(at2N-atN) / float64(max(r.N, 1)) }

// Scenario names what a counted row does: its flow, and after a blank its variant if it has one.
func (c *Cell) Scenario() string {
	if c.Variant == "" {
		return c.Flow
	}
	return c.Flow + " " + c.Variant
}

// over is the counted row that this one is compared with. Where several have that scenario, the closest is it: of the
// same subject, then of the same payload, codec, consumers and processors.
func (p *Part) over(r *Row) *Row {
	if r.Code == nil || r.Code.Over == "" {
		return nil
	}
	var found []*Row
	for i := range p.Rows {
		if o := &p.Rows[i]; o.Method == r.Method && o.Scenario() == r.Code.Over && o.Cell != r.Cell {
			found = append(found, o)
		}
	}
	for _, same := range []func(o *Row) bool{
		func(o *Row) bool { return o.Subject == r.Subject },
		func(o *Row) bool { return o.Payload == r.Payload },
		func(o *Row) bool { return o.Codec == r.Codec },
		func(o *Row) bool { return o.Consumers == r.Consumers },
		func(o *Row) bool { return o.Procs == r.Procs },
	} {
		closer := slices.DeleteFunc(slices.Clone(found), func(o *Row) bool { return !same(o) })
		if len(closer) > 0 {
			found = closer
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found[0]
}

// MoreHalf is half the range of what a counted row takes more than the one that it is compared with: the runs of both differ. It is
// that of the row's own runs where there is no other.
func (p *Part) MoreHalf(r *Row) float64 {
	half := r.Code.half()
	if over := p.over(r); over != nil && over.Code != nil {
		half += over.Code.half()
	}
	return half
}

// half is half the range of the runs.
func (c *Code) half() float64 { return c.Instructions * c.Spread }
