package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/progress"
)

// A scripted measurer answers orders without measuring, at a rate of a million per second, and keeps them.
type scripted struct {
	orders []Order
	answer func(o Order) (Report, bool) // false for the usual answer
}

func (s *scripted) measure(_ context.Context, o Order) Report {
	s.orders = append(s.orders, o)
	if s.answer != nil {
		if r, ok := s.answer(o); ok {
			return r
		}
	}
	if o.Spec.Method == document.Offered {
		return Report{Load: steady(o.Spec.Rate)}
	}
	return Report{Run: runOf(o, time.Duration(o.Messages)*time.Microsecond)}
}

func runOf(o Order, took time.Duration) *document.Run {
	windows := 1
	for took > 0 && time.Duration(windows)*took < o.Least {
		windows++
	}
	n := int64(o.Messages * windows)
	took *= time.Duration(windows)
	return &document.Run{
		Round: o.Round, Windows: windows, Messages: n, ElapsedNS: int64(took), CPUNS: 1, PeakRSS: 1,
		Ledger: document.Ledger{Published: n, Handled: n},
	}
}

func steady(rate int) *document.Load {
	n := int64(rate)
	return &document.Load{
		ScheduledNS: int64(time.Second), Published: n, PublishNS: int64(time.Second), CPUNS: 1, PeakRSS: 1,
		Ledger:  document.Ledger{Published: n, Handled: n},
		Latency: &document.Quantiles{P99: 1000, P999: 1000, Max: 1000}, FromSend: &document.Quantiles{},
		Lateness: &document.Quantiles{P99: 100, P999: 100, Max: 100},
	}
}

// steps keeps what a meter was told.
type steps struct {
	planned []progress.Step
	lines   []string
}

func (m *steps) Plan(s []progress.Step) { m.planned = s }
func (m *steps) Begin(name string)      { m.lines = append(m.lines, name) }
func (m *steps) End(result string)      { m.lines[len(m.lines)-1] += " = " + result }

func cells(t *testing.T, filter string) []matrix.Spec {
	t.Helper()
	b, err := matrix.Named("mem")
	if err != nil {
		t.Fatal(err)
	}
	specs, err := matrix.Only(append(matrix.Matrix(b), matrix.Levers(b)...), filter)
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

// The cells of a turn are measured in turn, round by round, and the meter is told of each.
func TestRoundsAreInTurn(t *testing.T) {
	t.Parallel()
	s, m := &scripted{}, &steps{}
	specs := cells(t, "method=drain flow=parallel payload=64 consumers=1,2 codec=json prefetch=0 handler=zero")
	rows, err := Run(t.Context(), Plan{Backend: "mem", Specs: specs, measure: s.measure}, m)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range s.orders {
		got = append(got, fmt.Sprintf("%d:%d:%d:%v", o.Round, o.Spec.Consumers, o.Messages, o.Least))
	}
	want := []string{
		"0:1:50000:0s", "0:1:200001:1s", "0:2:50000:0s", "0:2:200002:1s", "1:1:200001:1s", "1:2:200002:1s", "2:1:200001:1s",
		"2:2:200002:1s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the orders %v, want %v", got, want)
	}
	for i, row := range rows {
		if row.Cell != specs[i].Cell || row.Method != document.Drain || row.NotShown != nil || len(row.Runs) != 3 {
			t.Errorf("row %d is %+v", i, row)
		}
	}
	if len(m.planned) != 6 || len(m.lines) != 6 || m.lines[0] != specs[0].Name()+" = 1000000/s" {
		t.Errorf("planned %d steps, told %q", len(m.planned), m.lines)
	}
}

// Cells of different turns have no ratio, since what the machine did meanwhile is in it.
func TestNoRatioAcrossTurns(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	specs := cells(t, "method=drain flow=parallel,group payload=64 consumers=1,2 codec=json prefetch=0 handler=zero")
	rows, err := Run(t.Context(), Plan{Backend: "mem", Specs: specs, measure: s.measure}, nil)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	p := document.Part{Rows: rows, Ratios: []document.Ratio{
		{Of: rows[0].Cell, To: rows[1].Cell}, {Of: rows[2].Cell, To: rows[0].Cell}, {Of: rows[2].Cell, To: rows[3].Cell},
	}}
	p.Derive()
	if len(p.Ratios) != 2 || p.Ratios[0].Rounds != 3 || p.Ratios[1].Rounds != 2 {
		t.Errorf("the ratios are %+v, want those within a turn", p.Ratios)
	}
}

// A rung that lost one message has no number either, and ends the ladder.
func TestFailedRung(t *testing.T) {
	t.Parallel()
	s := &scripted{answer: func(o Order) (Report, bool) {
		l := steady(o.Spec.Rate)
		l.Ledger.Handled, l.Ledger.Lost = l.Ledger.Handled-1, 1
		return Report{Load: l}, true
	}}
	specs := cells(t, "method=offered flow=parallel consumers=1")
	rows, err := Run(t.Context(), Plan{Specs: specs, measure: s.measure}, nil)
	if err != nil || len(s.orders) != 1 {
		t.Fatalf("%v after %d orders", err, len(s.orders))
	}
	if n := rows[0].NotShown; n == nil || n.Code != document.Failed || n.Text != "of 500 messages 1 were lost" || rows[0].Load != nil {
		t.Errorf("got %+v of %+v", n, rows[0])
	}
}

// A row that lost one message has no number, whatever the process thinks of it, and is measured no more.
func TestFailedRows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(o Order) Report
		text   string
	}{
		"reason": {func(Order) Report { return failed("of 7 messages 1 were lost") }, "of 7 messages 1 were lost"},
		"ledger": {func(o Order) Report {
			r := runOf(o, 2*time.Second)
			r.Ledger.Handled, r.Ledger.Lost = r.Ledger.Handled-1, 1
			return Report{Run: r}
		}, "messages 1 were lost"},
		"nothing": {func(Order) Report { return Report{} }, "reported no run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scripted{answer: func(o Order) (Report, bool) { return c.answer(o), o.Round == 1 }}
			specs := cells(t, "method=drain flow=batch payload=1024 consumers=4")
			rows, err := Run(t.Context(), Plan{Specs: specs, measure: s.measure}, nil)
			if err != nil || len(s.orders) != 3 {
				t.Fatalf("%v after %d orders", err, len(s.orders))
			}
			n := rows[0].NotShown
			if n == nil || n.Code != document.Failed || !strings.Contains(n.Text, c.text) || rows[0].Runs != nil {
				t.Errorf("got %+v of %+v", n, rows[0])
			}
		})
	}
}

// A run that was too short is tried again with more messages. One that cannot be longer has no number.
func TestTooShort(t *testing.T) {
	t.Parallel()
	specs := cells(t, "method=live flow=parallel consumers=1 procs=2 subject=wherry workers=0")[:1]
	faster := &scripted{answer: func(o Order) (Report, bool) {
		return Report{Run: runOf(o, time.Duration(o.Messages)*50*time.Nanosecond)}, o.Messages > 50_000
	}}
	rows, err := Run(t.Context(), Plan{Specs: specs, measure: faster.measure}, nil)
	if err != nil || rows[0].NotShown != nil || len(rows[0].Runs) != specs[0].Rounds || rows[0].Runs[0].Messages != 24_000_000 {
		t.Errorf("got %+v, %v", rows[0], err)
	}
	specs[0].MaxBodies = 1 << 20
	most := int(specs[0].MaxBodies) / (specs[0].Payload + envelope)
	rows, err = Run(t.Context(), Plan{Specs: specs, measure: faster.measure}, nil)
	if n := rows[0].NotShown; err != nil || n == nil || n.Code != document.TooShort ||
		!strings.Contains(n.Text, fmt.Sprintf("%d messages took 5ms, and 1s is the shortest", most)) {
		t.Errorf("got %+v, %v", rows[0].NotShown, err)
	}
}

func TestQuick(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	specs := cells(t, "flow=parallel payload=64 consumers=1 codec=json workers=0 handler=zero")
	rows, err := Run(t.Context(), Plan{Specs: specs, Quick: true, measure: s.measure}, nil)
	if err != nil || len(rows[0].Runs) != 1 || s.orders[1].Messages != 200_001 {
		t.Errorf("got %+v, %v", rows[0], err)
	}
	if last := s.orders[len(s.orders)-1]; last.Spec.Rate != 100_000 || last.Spec.Length != time.Second {
		t.Errorf("the last order is %+v", last)
	}
}

// What a list says of the time is what the meter is told.
func TestExpected(t *testing.T) {
	t.Parallel()
	for _, quick := range []bool{false, true} {
		p := Plan{Specs: cells(t, "payload=64 consumers=1,4"), Quick: quick, measure: (&scripted{}).measure}
		var meter steps
		if _, err := Run(t.Context(), p, &meter); err != nil {
			t.Fatal(err)
		}
		var planned, listed time.Duration
		for _, step := range meter.planned {
			planned += step.Expected
		}
		for i := range p.Specs {
			listed += p.Expected(&p.Specs[i])
		}
		if off := planned - listed; off.Abs() > time.Millisecond || listed < 10*time.Second {
			t.Errorf("quick %v: %v are planned, and %v listed", quick, planned, listed)
		}
	}
}

// The ladder stops at the first rung that is not sustained, and the rows above it say so.
func TestLadder(t *testing.T) {
	t.Parallel()
	runs := 0
	s := &scripted{answer: func(o Order) (Report, bool) {
		r := steady(o.Spec.Rate)
		switch o.Spec.Rate {
		case 500:
			runs++
			r.FromSend.P99 = int64(3-runs%3) * 1e6
		case 5_000:
			r.Lateness.P99 = 101
		case 25_000:
			r.PeakLag = r.Published / 10
		default:
			return Report{}, false
		}
		return Report{Load: r}, true
	}}
	rows, err := Run(t.Context(), Plan{Specs: cells(t, "method=offered flow=parallel consumers=1"), measure: s.measure}, nil)
	if err != nil || len(rows) != 4 || len(s.orders) != 9 {
		t.Fatalf("%d rows of %d orders, %v", len(rows), len(s.orders), err)
	}
	if rows[0].NotShown != nil || rows[0].Load == nil || rows[0].Load.FromSend.P99 != 2e6 ||
		!slices.Contains(rows[0].Notes, "the median of 3 runs, whose p99 from the send were 1 ms, 2 ms, 3 ms") {
		t.Errorf("500/s is %+v", rows[0])
	}
	if l := rows[1].Load; l == nil || l.Withheld == nil || !strings.Contains(l.Withheld.Text, "101ns") || l.Latency != nil || l.FromSend == nil {
		t.Errorf("5,000/s is %+v", rows[1])
	}
	if rows[2].NotShown != nil || rows[2].Load == nil {
		t.Errorf("25,000/s, which was tried, is %+v", rows[2])
	}
	if n := rows[3].NotShown; n == nil || n.Code != document.NotMeasured || !strings.Contains(n.Text, "stopped at 25000/s") {
		t.Errorf("100,000/s is %+v", n)
	}
}

// When somebody interrupts, what was finished stays, and the rest says so.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	specs := cells(t, "method=drain flow=group consumers=1")
	s := &scripted{answer: func(o Order) (Report, bool) {
		if o.Spec.Payload == 1024 && o.Round == specs[0].Rounds+1 { // the second of its turn
			cancel()
			return failed("killed"), true
		}
		return Report{}, false
	}}
	m := &steps{}
	rows, err := Run(ctx, Plan{Specs: specs, measure: s.measure}, m)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if rows[0].NotShown != nil || len(rows[0].Runs) != specs[0].Rounds {
		t.Errorf("the first is %+v", rows[0])
	}
	for _, row := range rows[1:] {
		if n := row.NotShown; n == nil || n.Code != document.NotMeasured || n.Text != "interrupted" || row.Runs != nil {
			t.Errorf("%d B is %+v", row.Payload, n)
		}
	}
}

// A flow that is not there is no step, and its row names what is missing.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	m := &steps{}
	rows, err := Run(t.Context(), Plan{Specs: cells(t, "flow=pipeline payload=64 consumers=1"), measure: (&scripted{}).measure}, m)
	if n := rows[0].NotShown; err != nil || n.Code != document.Unsupported || !strings.Contains(n.Text, "flows") ||
		len(m.planned) != 0 {
		t.Errorf("got %+v, %v, %d steps", n, err, len(m.planned))
	}
}

// Of a lever, one round is stopped while it holds all it may, and the most uneven round counts.
func TestLevers(t *testing.T) {
	t.Parallel()
	s := &scripted{}
	s.answer = func(o Order) (Report, bool) {
		r := Report{
			Run:   runOf(o, time.Duration(o.Messages)*time.Millisecond),
			Extra: &document.Extra{BusiestShare: 0.25 + float64(o.Round)/100},
		}
		if o.Stop {
			r.Extra.StopNS = 5
		}
		return r, true
	}
	rows, err := Run(t.Context(), Plan{Specs: cells(t, "prefetch=128 handler=zero variant=round-trip=+1ms"), measure: s.measure}, nil)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if e := rows[0].Extra; e == nil || e.StopNS != 5 || e.BusiestShare != 0.26 {
		t.Errorf("got %+v", e)
	}
	stops := 0
	for _, o := range s.orders {
		if o.Stop {
			stops++
		}
	}
	if stops != 1 {
		t.Errorf("%d orders were to stop", stops)
	}
}
