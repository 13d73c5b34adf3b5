package document

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// shortest is the shortest window of a drain that counts. A shorter one is mostly start and end.
const shortest = time.Second

// tenth is the share of a latency that the pacer's own lateness may make up: one in so many.
const tenth = 10

func (v *validator) row(r *Row, path string, quick bool) {
	v.cell(r, path)
	if !slices.Contains(Methods(), r.Method) {
		v.addf(path+".method", "is %q, want %s", r.Method, list(Methods()))
		return
	}
	has := r.values()
	switch {
	case r.NotShown != nil && len(has) > 0:
		v.addf(path, "has values (%s) and a reason for having none (not_shown)", strings.Join(has, " and "))
	case r.NotShown != nil:
		v.reason(r.NotShown, path+".not_shown")
	case len(has) == 0:
		v.addf(path, "has neither values nor a reason for having none (not_shown)")
	case len(has) > 1 || has[0] != r.Method.values():
		v.addf(path, "has %s, want %s of a row by the method %q", strings.Join(has, " and "), r.Method.values(), r.Method)
	}
	for i := range r.Runs {
		v.run(&r.Runs[i], index(path+".runs", i))
		if r.Method == Drain && !quick && r.Runs[i].ElapsedNS < int64(shortest) {
			v.addf(index(path+".runs", i)+".elapsed_ns", "is %d, and a drain shorter than %v has no value: %q",
				r.Runs[i].ElapsedNS, shortest, TooShort)
		}
	}
	if r.Load != nil {
		v.load(r.Load, r.Rate, path+".load")
	}
	if r.Code != nil {
		v.code(r.Code, path+".code")
	}
	if r.Extra != nil {
		v.extra(r.Extra, path+".extra")
	}
	v.seal(r.facts(), path, r.Seal)
}

// Methods are all methods.
func Methods() []Method { return []Method{Drain, Live, Offered, Count, Paired} }

// values names the field that has the values of a row that was measured so.
func (m Method) values() string {
	switch m {
	case Offered:
		return "load"
	case Count:
		return "code"
	default:
		return "runs"
	}
}

// values names the fields of a row that have values.
func (r *Row) values() []string {
	var has []string
	if len(r.Runs) > 0 {
		has = append(has, "runs")
	}
	if r.Load != nil {
		has = append(has, "load")
	}
	if r.Code != nil {
		has = append(has, "code")
	}
	if r.Extra != nil && !slices.Contains(has, "runs") {
		has = append(has, "extra")
	}
	return has
}

func (v *validator) cell(r *Row, path string) {
	v.strings(reflect.ValueOf(r.Cell), path)
	for _, n := range []struct {
		least, is int
		name      string
	}{
		{0, r.Payload, "payload"},
		{0, r.Consumers, "consumers"},
		{0, r.Workers, "workers"},
		{0, r.Prefetch, "prefetch"},
		{0, r.Rate, "rate"},
		{1, r.Procs, "procs"},
	} {
		v.atLeast(int64(n.least), int64(n.is), join(path, n.name))
	}
	if r.Method == Offered && r.Rate == 0 {
		v.addf(path+".rate", "is missing, and the method is %q", r.Method)
	}
	if r.Method != Offered && r.Rate > 0 {
		v.addf(path+".rate", "is %d, and the method is %q", r.Rate, r.Method)
	}
}

// ReasonCodes are all reasons.
func ReasonCodes() []ReasonCode {
	return []ReasonCode{TooShort, Failed, Unsupported, NotMeasured, Withheld, ShapeOnly, OtherCorpus, PacerTooLate}
}

func (v *validator) reason(r *Reason, path string) {
	if !slices.Contains(ReasonCodes(), r.Code) {
		v.addf(path+".code", "is %q, want %s", r.Code, list(ReasonCodes()))
	}
	v.filled(r.Text, path+".text")
}

func (v *validator) run(r *Run, path string) {
	v.atLeast(0, int64(r.Round), path+".round")
	v.atLeast(0, int64(r.Windows), path+".windows")
	v.atLeast(1, r.Messages, path+".messages")
	v.atLeast(1, r.ElapsedNS, path+".elapsed_ns")
	v.atLeast(1, r.CPUNS, path+".cpu_ns")
	v.atLeast(1, r.PeakRSS, path+".peak_rss_bytes")
	v.ledger(&r.Ledger, path+".ledger")
	if r.Messages > r.Ledger.Handled {
		v.addf(path+".messages", "is %d, and %d were handled", r.Messages, r.Ledger.Handled)
	}
}

// ledger refuses a run that should have been void.
func (v *validator) ledger(l *Ledger, path string) {
	const void = "is %d, and a run that %s a message has no value"
	v.atLeast(1, l.Published, path+".published")
	v.atLeast(1, l.Handled, path+".handled")
	if l.Published != l.Handled {
		v.addf(path+".handled", "is %d of %d, and a run that lost a message has no value", l.Handled, l.Published)
	}
	if l.Duplicated != 0 {
		v.addf(path+".duplicated", void, l.Duplicated, "repeated")
	}
	v.atLeast(0, l.Reordered, path+".reordered")
	if l.Ordered && l.Reordered > 0 {
		v.addf(path+".reordered", void, l.Reordered, "promised order and reordered")
	}
}

func (v *validator) load(l *Load, rate int, path string) {
	v.atLeast(1, l.ScheduledNS, path+".scheduled_ns")
	v.atLeast(1, l.Published, path+".published")
	v.atLeast(1, l.PublishNS, path+".publish_ns")
	v.atLeast(0, l.PeakLag, path+".peak_lag")
	v.atLeast(1, l.CPUNS, path+".cpu_ns")
	v.atLeast(1, l.PeakRSS, path+".peak_rss_bytes")
	v.ledger(&l.Ledger, path+".ledger")
	if l.Published != l.Ledger.Published {
		v.addf(path+".published", "is %d, and %d in the ledger", l.Published, l.Ledger.Published)
	}
	v.quantiles(l.Latency, path+".latency")
	v.quantiles(l.FromSend, path+".from_send")
	v.quantiles(l.Lateness, path+".pacer_late")
	v.eachRun(l, path)
	switch {
	case !l.Sustained:
	case float64(l.Published) < reachedShare*l.scheduled(rate):
		v.addf(path+".published", "is %d of the %.0f that were scheduled, and the load was sustained", l.Published, l.scheduled(rate))
	case l.Lateness == nil:
		v.addf(path+".pacer_late", "is missing, and the load was sustained")
	case l.Latency == nil && l.Withheld == nil:
		v.addf(path+".latency", "is missing, and the load was sustained")
	case l.Latency != nil && l.Withheld != nil:
		v.addf(path+".latency_withheld", "is there, and so is the latency")
	case l.Withheld != nil && l.Withheld.Code != PacerTooLate:
		v.addf(path+".latency_withheld.code", "is %q, want %q: nothing else withholds the latency of a sustained load",
			l.Withheld.Code, PacerTooLate)
	case l.Withheld != nil && l.FromSend == nil:
		v.addf(path+".from_send", "is missing, and the latency from the intended time is withheld")
	case l.PacerTooLate():
		v.addf(path+".pacer_late.p99_ns", "is %d, more than a tenth of the latency's, which is to be withheld: %q",
			l.Lateness.P99, PacerTooLate)
	}
}

// eachRun holds the percentiles of all runs of a load against those of the one in the middle.
func (v *validator) eachRun(l *Load, path string) {
	v.atLeast(0, int64(l.Runs), path+".runs")
	for _, each := range []struct {
		name  string
		p99s  []int64
		of    *Quantiles
		other bool // the one in the middle is chosen by something else
	}{{".p99s_from_send_ns", l.P99sFromSend, l.FromSend, false}, {".p99s_ns", l.P99s, l.Latency, true}} {
		if len(each.p99s) == 0 {
			continue
		}
		for i, p99 := range each.p99s {
			v.atLeast(0, p99, index(path+each.name, i))
		}
		sorted := slices.Sorted(slices.Values(each.p99s))
		switch middle := sorted[(len(sorted)-1)/2]; {
		case len(each.p99s) != l.Runs:
			v.addf(path+each.name, "has %d values, of %d runs", len(each.p99s), l.Runs)
		case each.of == nil:
			v.addf(path+each.name, "is there, and the row does not say this latency")
		case each.other && !slices.Contains(sorted, each.of.P99), !each.other && middle != each.of.P99:
			v.addf(path+each.name, "does not have the p99 of the row, %d, where it belongs", each.of.P99)
		}
	}
}

func (v *validator) quantiles(q *Quantiles, path string) {
	if q == nil {
		return
	}
	last := int64(0)
	for _, n := range []struct {
		is   int64
		name string
	}{{q.P50, "p50_ns"}, {q.P95, "p95_ns"}, {q.P99, "p99_ns"}, {q.P999, "p99_9_ns"}, {q.Max, "max_ns"}} {
		v.atLeast(last, n.is, join(path, n.name))
		last = max(last, n.is)
	}
}

func (v *validator) code(c *Code, path string) {
	if len(c.Runs) == 0 {
		v.addf(path+".runs", "is empty")
	}
	for i, r := range c.Runs {
		at := index(path+".runs", i)
		v.atLeast(1, r.N, at+".n")
		v.atLeast(1, r.InstrN, at+".instructions_n")
		if r.Instr2N <= r.InstrN {
			v.addf(at+".instructions_2n", "is %d, no more than the %d for half as many messages", r.Instr2N, r.InstrN)
		}
		v.atLeast(0, r.BlocksN, at+".blocks_n")
		v.atLeast(0, r.Blocks2N, at+".blocks_2n")
		v.atLeast(0, r.BytesN, at+".bytes_n")
		v.atLeast(0, r.Bytes2N, at+".bytes_2n")
		v.atLeast(0, r.ColdInstr, at+".cold_instructions")
		v.atLeast(0, r.ColdBlocks, at+".cold_blocks")
	}
}

func (v *validator) extra(e *Extra, path string) {
	if e.BusiestShare < 0 || e.BusiestShare > 1 {
		v.addf(path+".busiest_share", "is %v, want a share between 0 and 1", e.BusiestShare)
	}
	v.atLeast(0, e.StopNS, path+".stop_ns")
}
