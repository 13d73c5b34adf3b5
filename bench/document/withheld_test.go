package document

import (
	"strings"
	"testing"
)

// A load whose pacer was too late keeps its latency from the send, and says why the other is not there.
func TestWithhold(t *testing.T) {
	t.Parallel()
	late := func() *Part {
		p := sampleMatrix()
		p.Rows[4].Load.Lateness = &Quantiles{1, 1, 20_000, 20_000, 20_000}
		return p
	}
	p := late()
	l := p.Rows[4].Load
	if !l.PacerTooLate() {
		t.Fatalf("lateness %+v of %+v is not too late", l.Lateness, l.Latency)
	}
	l.Withhold()
	if l.PacerTooLate() || l.Latency != nil || l.FromSend == nil || !strings.Contains(l.Withheld.Text, "late by 20µs at p99") {
		t.Errorf("withheld is %+v of %+v", l.Withheld, l)
	}
	p.Void()
	d := New(sampleHost())
	if err := d.Merge(sampleHost(), "mem", MatrixPart, p); err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil || p.Rows[4].NotShown != nil {
		t.Errorf("the load is refused: %v, %+v", err, p.Rows[4].NotShown)
	}
	for name, test := range map[string]struct {
		spoil func(l *Load)
		want  string
	}{
		"both":         {func(l *Load) { l.Latency = l.FromSend }, ".latency_withheld: is there, and so is the latency"},
		"neither":      {func(l *Load) { l.Withheld = nil }, ".latency: is missing"},
		"other reason": {func(l *Load) { l.Withheld.Code = Failed }, ".latency_withheld.code: is \"failed\""},
		"no send":      {func(l *Load) { l.FromSend = nil }, ".from_send: is missing"},
		"no lateness":  {func(l *Load) { l.Lateness = nil }, ".pacer_late: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := late()
			p.Rows[4].Load.Withhold()
			p.Derive()
			test.spoil(p.Rows[4].Load)
			d := New(sampleHost())
			err := d.Merge(sampleHost(), "mem", MatrixPart, p)
			if err == nil {
				err = d.Validate()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
