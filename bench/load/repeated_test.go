package load

import (
	"reflect"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// windowsOf answers with one window after the other, and tells how many were asked for.
func windowsOf(reports ...Report) (once func(bool) Report, asked *int) {
	asked = new(int)
	return func(first bool) Report {
		if first != (*asked == 0) {
			return failed("the first is another")
		}
		*asked++
		return reports[*asked-1]
	}, asked
}

func windowOf(took time.Duration, busiest float64, stop int64) Report {
	return Report{
		Run: &document.Run{
			Messages: 9, ElapsedNS: int64(took), CPUNS: 2, Ledger: document.Ledger{Published: 10, Handled: 10, Ordered: true},
		},
		Extra: &document.Extra{BusiestShare: busiest, StopNS: stop},
	}
}

// The windows of a run add up. The first warms the process up where handlers do nothing: it is judged, and not timed.
func TestWindowsAddUp(t *testing.T) {
	t.Parallel()
	long, short := windowOf(time.Minute, 1, 7), windowOf(600*time.Millisecond, 0.3, 0)
	for name, c := range map[string]struct {
		least   time.Duration
		handler string
		asked   int
		want    document.Run
		extra   document.Extra
	}{
		"nothing to do": {time.Second, matrix.Zero, 3, document.Run{
			Windows: 2, Messages: 18, ElapsedNS: 12e8, CPUNS: 4, Ledger: document.Ledger{Published: 30, Handled: 30, Ordered: true},
		}, document.Extra{BusiestShare: 0.3, StopNS: 7}},
		"slow": {time.Second, matrix.Slow, 1, document.Run{
			Windows: 1, Messages: 9, ElapsedNS: 60e9, CPUNS: 2, Ledger: document.Ledger{Published: 10, Handled: 10, Ordered: true},
		}, document.Extra{BusiestShare: 1, StopNS: 7}},
		"one": {0, matrix.Zero, 1, document.Run{
			Windows: 1, Messages: 9, ElapsedNS: 60e9, CPUNS: 2, Ledger: document.Ledger{Published: 10, Handled: 10, Ordered: true},
		}, document.Extra{BusiestShare: 1, StopNS: 7}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Order{Round: 3, Least: c.least}
			o.Spec.Handler = c.handler
			once, asked := windowsOf(long, short, short)
			r := repeated(&o, once)
			if r.None != nil || *asked != c.asked {
				t.Fatalf("%+v after %d windows", r.None, *asked)
			}
			c.want.Round, c.want.PeakRSS = 3, r.Run.PeakRSS
			if *r.Run != c.want || r.Run.PeakRSS < 1 {
				t.Errorf("the run is %+v, want %+v", *r.Run, c.want)
			}
			if !reflect.DeepEqual(*r.Extra, c.extra) {
				t.Errorf("besides it is %+v, want %+v", *r.Extra, c.extra)
			}
		})
	}
}

// A window that failed makes the run void, the one that is not timed as well, and so does one without an end.
func TestWindowsAreJudged(t *testing.T) {
	t.Parallel()
	o := Order{Least: time.Second}
	o.Spec.Handler = matrix.Zero
	good, bad := windowOf(time.Millisecond, 0, 0), failed("of 10 messages 1 were lost")
	for i, reports := range [][]Report{{bad}, {good, bad}, {good, good, bad}} {
		once, asked := windowsOf(reports...)
		if r := repeated(&o, once); r.None == nil || r.None.Text != bad.None.Text || r.Run != nil || *asked != i+1 {
			t.Errorf("%+v after %d windows", r, *asked)
		}
	}
	once, _ := windowsOf(good, windowOf(0, 0, 0))
	if r := repeated(&o, once); r.None == nil || r.None.Code != document.Failed {
		t.Errorf("a window without time: %+v", r)
	}
}
