package progress

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/google/go-cmp/cmp"
)

// screen is what was written, by several goroutines.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func steps() []Step {
	return []Step{{"drain 64 B", 20 * time.Second}, {"drain 1 KiB", 40 * time.Second}, {"live", 30 * time.Minute}}
}

func TestLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s screen
		d := NewDisplay(&s, 0)
		d.Plan(steps())
		d.Begin("drain 64 B")
		time.Sleep(10 * time.Second)
		d.End("1.7 M msg/s")
		d.Begin("drain 1 KiB")
		time.Sleep(20 * time.Second)
		d.End("window too short")
		d.Begin("live")
		time.Sleep(time.Minute)
		d.End("failed")
		d.Close()
		want := "3 steps, about 31m\n" +
			"[1/3] drain 64 B: 1.7 M msg/s (15m left)\n" +
			"[2/3] drain 1 KiB: window too short (15m left)\n" +
			"[3/3] live: failed\n"
		if diff := cmp.Diff(want, s.String()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestNothingDone has steps that are over at once: those that are left take as long as they would without.
func TestNothingDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s screen
		d := NewDisplay(&s, 0)
		d.Plan(slices.Repeat([]Step{{"drain", 20 * time.Second}}, 4))
		for _, took := range []time.Duration{20 * time.Second, 0, 0} {
			d.Begin("drain")
			time.Sleep(took)
			d.End("done")
		}
		d.Close()
		if want := "[3/4] drain: done (20s left)\n"; !strings.HasSuffix(s.String(), want) {
			t.Errorf("the last line is not %q:\n%s", want, s.String())
		}
	})
}

func TestBar(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s screen
		d := NewDisplay(&s, 64)
		d.Plan(steps()[:2])
		d.Begin("drain 64 B")
		time.Sleep(15*time.Second + redraw/2)
		now := s.String()
		last := now[strings.LastIndex(now, "\r")+1:]
		for _, want := range []string{" 25% ", "[1/2] 45s left, drain 64 B", "▌▌▌▌▌▌"} {
			if !strings.Contains(last, want) {
				t.Errorf("the bar is %q, without %q", last, want)
			}
		}
		d.End("1.7 M msg/s")
		if all := s.String(); !strings.Contains(all, "\r[1/2] drain 64 B: 1.7 M msg/s (30s left)\n") {
			t.Errorf("no line for the step: %q", all[len(now):])
		}
		d.Begin(strings.Repeat("ü", 100))
		for line := range strings.SplitSeq(s.String(), "\r") {
			if n := lipgloss.Width(strings.TrimSuffix(line, "\n")); n >= 64 {
				t.Errorf("a line of %d columns does not fit: %q", n, line)
			}
		}
		d.Close()
		before := s.String()
		time.Sleep(time.Minute)
		if s.String() != before || !strings.HasSuffix(before, " \r") {
			t.Error("the bar was not erased, or drawn after the end")
		}
	})
}

// TestNarrow draws on terminals that are too narrow for a bar, and then for anything.
func TestNarrow(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 2, 20, barWidth, barWidth + barRest, barWidth + barRest + textWidth} {
		synctest.Test(t, func(t *testing.T) {
			var s screen
			d := NewDisplay(&s, width)
			d.Plan(steps()[:2])
			d.Begin("drain 64 B")
			time.Sleep(redraw + redraw/2)
			drawn := s.String()
			for line := range strings.SplitSeq(drawn, "\r") {
				if n := lipgloss.Width(line); n >= width {
					t.Errorf("a line of %d columns does not fit into %d: %q", n, width, line)
				}
			}
			if width >= 20 && !strings.Contains(drawn, "[1/2] 1m0s left") {
				t.Errorf("on %d columns it is not said how long it takes: %q", width, drawn)
			}
			d.Close()
		})
	}
}

func TestEstimate(t *testing.T) {
	t.Parallel()
	at := time.Unix(0, 0)
	e := estimate{steps: steps()[:2]}
	want := func(left time.Duration, share float64) {
		t.Helper()
		if got := e.left(at); got != left || e.share(at) != share {
			t.Errorf("%v left, share %v, want %v, %v", got, e.share(at), left, share)
		}
	}
	want(time.Minute, 0)
	e.begin(at)
	at = at.Add(30 * time.Second) // Longer than expected: it is as if it were over.
	want(40*time.Second, 30.0/70)
	at = at.Add(10 * time.Second)
	e.end(at)
	want(80*time.Second, 40.0/120)
	e.begin(at)
	at = at.Add(80 * time.Second)
	e.end(at)
	want(0, 1)
	e.begin(at) // One that was not planned.
	want(0, 1)
}
