package load

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// A clock stands still unless somebody moves it.
type clock struct{ at int64 }

func (c *clock) pacer(rate, count int) *pacer {
	return &pacer{
		rate: rate, count: count, limit: int64(time.Hour),
		now:  func() int64 { return c.at },
		idle: func(until int64, _ int) { c.at = until },
	}
}

const ms = int64(time.Millisecond)

func TestPacerKeepsTheSchedule(t *testing.T) {
	t.Parallel()
	c := &clock{at: 77}
	p := c.pacer(1000, 5)
	got, err := p.run(t.Context(), func(int) error { return nil })
	if want := []int64{77, 77 + ms, 77 + 2*ms, 77 + 3*ms, 77 + 4*ms}; err != nil || !slices.Equal(got.sent, want) {
		t.Errorf("sent at %v, want %v; %v", got.sent, want, err)
	}
	if slices.Max(got.late) != 0 || got.end != 77+4*ms {
		t.Errorf("late by %v, ended at %d", got.late, got.end)
	}
}

// A send that takes long delays the next ones, which keep their intended times, and is not the pacer's fault.
func TestPacerAfterASlowSend(t *testing.T) {
	t.Parallel()
	c := &clock{}
	p := c.pacer(1000, 6)
	got, err := p.run(t.Context(), func(i int) error {
		if i == 1 {
			c.at += 3 * ms
		}
		return nil
	})
	if want := []int64{0, ms, 4 * ms, 4 * ms, 4 * ms, 5 * ms}; err != nil || !slices.Equal(got.sent, want) {
		t.Errorf("sent at %v, want %v; %v", got.sent, want, err)
	}
	if slices.Max(got.late) != 0 {
		t.Errorf("late by %v", got.late)
	}
	if p.intended(2) != 2*ms {
		t.Errorf("message 2 is meant for %d", p.intended(2))
	}
}

// A pacer that gives way for too long is late, with everything that came due meanwhile.
func TestPacerThatOversleeps(t *testing.T) {
	t.Parallel()
	c := &clock{}
	p := c.pacer(1000, 4)
	p.idle = func(until int64, _ int) { c.at = until + 2*ms }
	got, err := p.run(t.Context(), func(int) error { return nil })
	if want := []int64{0, 2 * ms, ms, 0}; err != nil || !slices.Equal(got.late, want) {
		t.Errorf("late by %v, want %v; %v", got.late, want, err)
	}
}

func TestPacerGivesUp(t *testing.T) {
	t.Parallel()
	c := &clock{}
	p := c.pacer(1000, 100)
	p.limit = 20 * ms
	got, err := p.run(t.Context(), func(int) error { c.at += 5 * ms; return nil })
	if n := len(got.sent); err != nil || n == 0 || n > 30 {
		t.Errorf("%d were sent; %v", n, err)
	}
	broken := errors.New("broken")
	got, err = c.pacer(1000, 5).run(t.Context(), func(i int) error {
		if i == 2 {
			return broken
		}
		return nil
	})
	if !errors.Is(err, broken) || len(got.sent) != 3 {
		t.Errorf("got %v after %d", err, len(got.sent))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.pacer(1000, 5).run(ended, func(int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
}

// The pacer of the system's clock sends everything, never before it is due.
func TestPacerOfTheSystem(t *testing.T) {
	t.Parallel()
	p := newPacer(100_000, 20*time.Millisecond)
	p.limit = int64(time.Hour) // whatever else the machine does
	got, err := p.run(t.Context(), func(int) error { return nil })
	if err != nil || len(got.sent) != 2000 {
		t.Fatalf("%d were sent; %v", len(got.sent), err)
	}
	for i, at := range got.sent {
		if at < p.intended(i) {
			t.Fatalf("message %d went at %d and was due at %d", i, at, p.intended(i))
		}
	}
}

// A consumer that stalls for a second shows it in p99: the messages that were due meanwhile waited, although a publisher
// that waits for room sends most of them later.
func TestStallShowsInLatency(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := kind{spec: spec(document.Offered, matrix.Parallel, 1)}
		k.spec.Rate, k.spec.Length, k.spec.Bound = 1000, 10*time.Second, 50
		s, err := newStage(Order{Backend: "mem", Spec: k.spec}, openBackend)
		if err != nil {
			t.Fatal(err)
		}
		s.work = func(_ context.Context, id uint32) {
			if id == 5_000 {
				time.Sleep(time.Second)
			}
		}
		r := offered(t.Context(), s, views(16), func(s *matrix.Spec) *pacer {
			p := newPacer(s.Rate, s.Length)
			p.idle = func(until int64, _ int) { time.Sleep(time.Duration(until - p.now())) }
			return p
		})
		if err := s.close(t.Context()); err != nil || r.Load == nil {
			t.Fatalf("%v; %+v", err, r.None)
		}
		l := r.Load
		if p99 := time.Duration(l.Latency.P99); p99 < 850*time.Millisecond || p99 > 1010*time.Millisecond {
			t.Errorf("p99 is %v from the intended time, want about 0.9 s", p99)
		}
		if most := time.Duration(l.Latency.Max); most < 990*time.Millisecond || most > 1010*time.Millisecond {
			t.Errorf("the maximum is %v, want about 1 s", most)
		}
		if l.FromSend.P99 > l.Latency.P99/2 {
			t.Errorf("p99 is %v from the send: the bound of the queue held nothing back", time.Duration(l.FromSend.P99))
		}
		if l.Lateness.Max > int64(time.Microsecond) {
			t.Errorf("the pacer takes the blame for %v", time.Duration(l.Lateness.Max))
		}
		if l.Published != 10_000 || l.Ledger.Published != 10_000 || l.PeakLag < 50 {
			t.Errorf("got %+v", l)
		}
	})
}
