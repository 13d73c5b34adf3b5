package document

import (
	"slices"
	"testing"
)

// offeredLoad is a load of a rate of 1000 whose p99 from the send is so, and from the intended time a tenth more.
func offeredLoad(p99, lag int64) *Load {
	return &Load{
		ScheduledNS: 1e9, Published: 1000, PublishNS: 1e9, PeakLag: lag, Ledger: Ledger{Published: 1000, Handled: 1000},
		CPUNS: 1, PeakRSS: 1, Lateness: &Quantiles{P99: 100, P999: 100, Max: 100},
		FromSend: &Quantiles{P99: p99, P999: p99, Max: p99}, Latency: &Quantiles{P99: p99 + p99/10, P999: 2 * p99, Max: 2 * p99},
	}
}

func TestEachRunOfALoadIsKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		loads                []*Load
		runs                 int
		fromSend, fromIntend []int64
		note                 string
	}{
		"once": {loads: []*Load{offeredLoad(5000, 0)}},
		"three": {
			[]*Load{offeredLoad(5000, 0), offeredLoad(7000, 0), offeredLoad(6000, 0)},
			3,
			[]int64{5000, 7000, 6000},
			[]int64{5500, 7700, 6600},
			"5 µs, 6 µs, 7 µs",
		},
		"one of three was not sustained": {
			[]*Load{offeredLoad(5000, 0), offeredLoad(7000, 900), offeredLoad(6000, 0)}, 3, nil, nil, "5 µs, 6 µs, not sustained",
		},
		"the pacer of one was late": {
			[]*Load{offeredLoad(500, 0), offeredLoad(7000, 0), offeredLoad(6000, 0)}, 3, []int64{500, 7000, 6000}, nil, "500 ns, 6 µs, 7 µs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Row{Cell: Cell{Rate: 1000}}
			r.TakeMedian(test.loads)
			if r.Load.Runs != test.runs || !slices.Equal(r.Load.P99sFromSend, test.fromSend) || !slices.Equal(r.Load.P99s, test.fromIntend) {
				t.Errorf("%d runs, %v from the send, %v from the intended time", r.Load.Runs, r.Load.P99sFromSend, r.Load.P99s)
			}
			said := ""
			for _, note := range r.Notes {
				if each, ok := RunsNote(note); ok {
					said = each
				}
			}
			if said != test.note {
				t.Errorf("the note has %q, want %q", said, test.note)
			}
			var v validator
			v.load(r.Load, 1000, "load")
			if err := v.err(); err != nil {
				t.Error(err)
			}
		})
	}
	if each, ok := RunsNote("the queue's bound is raised"); ok {
		t.Errorf("%q is of no runs", each)
	}
}

// TestRunsOfALoadAreHeldAgainstIt has percentiles of all runs that do not belong to their row.
func TestRunsOfALoadAreHeldAgainstIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Load)
		path   string
	}{
		"too few":     {func(l *Load) { l.P99sFromSend = l.P99sFromSend[:2] }, "p99s_from_send_ns"},
		"another":     {func(l *Load) { l.P99sFromSend[1]++ }, "p99s_from_send_ns"},
		"not in":      {func(l *Load) { l.P99s[1]++ }, "p99s_ns"},
		"of no value": {func(l *Load) { l.Latency, l.Withheld = nil, &Reason{PacerTooLate, "late"} }, "p99s_ns"},
		"negative":    {func(l *Load) { l.P99s[0] = -1 }, "p99s_ns[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sample(t)
			part := d.Backend("mem").Matrix
			test.change(part.Rows[4].Load)
			part.Derive()
			wantFault(t, d.Validate(), "backends[1].matrix.rows[4].load."+test.path)
		})
	}
}
