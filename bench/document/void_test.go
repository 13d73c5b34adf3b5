package document

import (
	"strings"
	"testing"
)

// TestVoid measures rows that no document takes, beside rows that are as they should be.
func TestVoid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		row   int
		spoil func(r *Row)
		want  string
	}{
		"no time":    {0, func(r *Row) { r.Runs[1].ElapsedNS = 0 }, "runs[1].elapsed_ns: is 0, want at least 1"},
		"no memory":  {1, func(r *Row) { r.Runs[0].PeakRSS = 0 }, "runs[0].peak_rss_bytes: is 0"},
		"lost":       {1, func(r *Row) { r.Runs[2].Ledger.Handled-- }, "runs[2].ledger.handled: is 1999999 of 2000000"},
		"too short":  {0, func(r *Row) { r.Runs[0].ElapsedNS = 1e6 }, "window too short"},
		"no values":  {0, func(r *Row) { r.Runs = nil }, "has neither values nor a reason"},
		"late":       {4, func(r *Row) { r.Load.Lateness = &Quantiles{1, 1, 20_000, 20_000, 20_000} }, "to be withheld"},
		"repeated":   {0, func(r *Row) { r.Runs[0].Ledger.Duplicated = 1 }, "runs[0].ledger.duplicated: is 1"},
		"reordered":  {0, func(r *Row) { r.Runs[0].Ledger.Ordered = true }, "runs[0].ledger.reordered: is 7, and a run that promised"},
		"too many":   {0, func(r *Row) { r.Runs[0].Messages = 3_000_000 }, "runs[0].messages: is 3000000, and 2000000 were handled"},
		"two counts": {4, func(r *Row) { r.Load.Published-- }, "load.published: is 49999, and 50000 in the ledger"},
		"half":       {4, func(r *Row) { r.Load.ScheduledNS *= 2 }, "load.published: is 50000 of the 99999 that were scheduled"},
		"both":       {0, func(r *Row) { r.NotShown = &Reason{Failed, "it fell over"} }, "it fell over"},
		"quantiles":  {4, func(r *Row) { r.Load.Latency.P50 = r.Load.Latency.Max + 1 }, "load.latency.p95_ns"},
		"wrong kind": {4, func(r *Row) { r.Load, r.Runs = nil, sampleRuns(1_000_000) }, "want load of a row by the method"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := sampleMatrix()
			before := len(p.Ratios)
			test.spoil(&p.Rows[test.row])
			p.Void()
			for i := range p.Rows {
				r := &p.Rows[i]
				switch {
				case i != test.row:
					if r.NotShown != nil && r.NotShown.Code == Failed {
						t.Errorf("row %d is void as well: %s", i, r.NotShown.Text)
					}
				case r.NotShown == nil || r.NotShown.Code != Failed || !strings.Contains(r.NotShown.Text, test.want):
					t.Errorf("the reason is %+v, want %q", r.NotShown, test.want)
				case len(r.values()) > 0 || r.Summary != nil:
					t.Errorf("it still has %v", r.values())
				}
			}
			d := New(sampleHost())
			if err := d.Merge(sampleHost(), "mem", MatrixPart, p); err != nil {
				t.Fatal(err)
			}
			if err := d.Validate(); err != nil {
				t.Error(err)
			}
			if len(p.Ratios) > before {
				t.Errorf("%d comparisons came of %d", len(p.Ratios), before)
			}
		})
	}
	whole := sampleMatrix()
	whole.Void()
	for i := range whole.Rows {
		if r := &whole.Rows[i]; r.NotShown != nil && r.NotShown.Code == Failed {
			t.Errorf("row %d of a whole part is void: %s", i, r.NotShown.Text)
		}
	}
}

// TestRatioOfOneMethod compares a drain with a live row of the same rounds.
func TestRatioOfOneMethod(t *testing.T) {
	t.Parallel()
	p := sampleMatrix()
	p.Rows[2].Method = Live
	d := New(sampleHost())
	if err := d.Merge(sampleHost(), "mem", MatrixPart, p); err != nil {
		t.Fatal(err)
	}
	err := d.Validate()
	if err == nil || !strings.Contains(err.Error(), `backends[0].matrix.ratios[0]: compares a row by the method "drain" with one by "live"`) {
		t.Errorf("the comparison of two methods: %v", err)
	}
}
