package versus

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/progress"
	"github.com/wherryhq/wherry/bench/versus/program"
)

// A stub runs subjects at rates, and notes in which order.
type stub struct {
	rates map[string]float64
	loads map[int]*document.Load
	calls []string
	sizes []int
}

func (s *stub) run(_ context.Context, _ string, spec *matrix.Spec, n size) *program.Answer {
	s.calls = append(s.calls, spec.Subject)
	s.sizes = append(s.sizes, n.messages)
	if spec.Method == document.Offered {
		l := *s.loads[spec.Rate]
		return &program.Answer{Load: &l}
	}
	return &program.Answer{Run: answerOf(n.messages, s.rates[spec.Subject])}
}

func measured(t *testing.T, s *stub, specs ...matrix.Spec) []document.Row {
	t.Helper()
	r := &runner{meter: silent{}, run: s.run}
	for _, spec := range specs {
		r.rows = append(r.rows, newRow(spec, false))
	}
	rows, err := r.measure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// TestRoundsOfTurns wants no round in common of rows that were not measured in turn, so that they have no ratio.
func TestRoundsOfTurns(t *testing.T) {
	t.Parallel()
	a, b := timed("a"), timed("b")
	b.Turn = "another turn"
	rows := measured(t, &stub{rates: map[string]float64{"a": 1e6, "b": 3e4}}, a, b)
	p := document.Part{Rows: rows, Ratios: []document.Ratio{{Of: a.Cell, To: b.Cell}}}
	p.Derive()
	if len(rows[0].Runs) != 2 || len(rows[1].Runs) != 2 || len(p.Ratios) != 0 {
		t.Errorf("the rounds are %+v and %+v", rows[0].Runs, rows[1].Runs)
	}
}

// TestRounds wants as many rounds as asked for, each with all subjects, each beginning with another.
func TestRounds(t *testing.T) {
	t.Parallel()
	s := &stub{rates: map[string]float64{"a": 1e6, "b": 3e4, "c": 5e4}}
	a, b, c := timed("a"), timed("b"), timed("c")
	a.Rounds, b.Rounds, c.Rounds = 3, 3, 3
	rows := measured(t, s, a, b, c)
	probed := map[string]bool{}
	var order []string
	for i, subject := range s.calls {
		if s.sizes[i] < int(s.rates[subject]) {
			probed[subject] = true // shorter than a second
			continue
		}
		order = append(order, subject)
	}
	if want := []string{"a", "b", "c", "b", "c", "a", "c", "a", "b"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
	if len(probed) != 3 {
		t.Errorf("probed %v, want all", probed)
	}
	for _, r := range rows {
		for i, run := range r.Runs {
			if run.Round != i || time.Duration(run.ElapsedNS) < shortest {
				t.Errorf("%s: run %d is of round %d and took %v", r.Subject, i, run.Round, time.Duration(run.ElapsedNS))
			}
		}
		if len(r.Runs) != 3 {
			t.Errorf("%s: %d runs", r.Subject, len(r.Runs))
		}
	}
}

// TestTooShort is a corpus that may not be large enough.
func TestTooShort(t *testing.T) {
	t.Parallel()
	spec := timed("a")
	spec.Method, spec.MaxBodies, spec.Payload = document.Drain, 64<<20, 64<<10
	rows := measured(t, &stub{rates: map[string]float64{"a": 1e6}}, spec)
	if n := rows[0].NotShown; n == nil || n.Code != document.TooShort || !strings.Contains(n.Text, "1024 messages") {
		t.Errorf("%+v", n)
	}
}

func loadOf(rate int, p99, late time.Duration, lag int64) *document.Load {
	n := int64(rate) * 10
	q := func(d time.Duration) *document.Quantiles {
		return &document.Quantiles{P50: int64(d) / 2, P95: int64(d), P99: int64(d), P999: int64(d), Max: int64(d)}
	}
	return &document.Load{
		ScheduledNS: 10e9, Published: n, PublishNS: 10e9, PeakLag: lag, CPUNS: 1, PeakRSS: 1,
		Ledger: document.Ledger{Published: n, Handled: n}, Latency: q(p99), FromSend: q(p99), Lateness: q(late),
	}
}

func rungAt(rate int) matrix.Spec {
	s := timed("a")
	s.Method, s.Rate, s.Rounds, s.Length, s.Turn = document.Offered, rate, 1, 10*time.Second, "offered"
	return s
}

// TestLadder stops above the first rung that was not sustained, and does not trust a pacer that was late.
func TestLadder(t *testing.T) {
	t.Parallel()
	s := &stub{loads: map[int]*document.Load{
		100: loadOf(100, time.Millisecond, 200*time.Microsecond, 1),
		200: loadOf(200, time.Millisecond, 10*time.Microsecond, 1),
		300: loadOf(300, time.Second, 10*time.Microsecond, 2000),
	}}
	rows := measured(t, s, rungAt(100), rungAt(200), rungAt(300), rungAt(400))
	switch l := rows[0].Load; {
	case l == nil || l.Withheld == nil || l.Withheld.Code != document.PacerTooLate || !strings.Contains(l.Withheld.Text, "200µs"):
		t.Errorf("a late pacer: %+v", rows[0])
	case l.Latency != nil || l.FromSend == nil || rows[0].Notes != nil:
		t.Errorf("a late pacer: %+v, %v", l, rows[0].Notes)
	}
	if rows[1].Load == nil || rows[2].Load == nil {
		t.Errorf("rungs: %+v, %+v", rows[1], rows[2])
	}
	if n := rows[3].NotShown; n == nil || n.Code != document.NotMeasured || !strings.Contains(n.Text, "stopped at 300/s") {
		t.Errorf("above a rung that was not sustained: %+v", n)
	}
	if want := []int{1000, 2000, 3000}; !slices.Equal(s.sizes, want) {
		t.Errorf("messages %v, want %v", s.sizes, want)
	}
}

// TestLoadsInSeveralRuns takes the run in the middle. One that was not sustained is above all others.
func TestLoadsInSeveralRuns(t *testing.T) {
	t.Parallel()
	const late, lag = 10 * time.Microsecond, 2000
	for name, c := range map[string]struct {
		loads []*document.Load
		want  time.Duration // 0 is one that was not sustained
		note  string
	}{
		"middle": {
			[]*document.Load{loadOf(100, 9*time.Millisecond, late, 1), loadOf(100, time.Millisecond, late, 1), loadOf(100, 2*time.Millisecond, late, 1)},
			2 * time.Millisecond, "the median of 3 runs, whose p99 from the send were 1 ms, 2 ms, 9 ms",
		},
		"one not sustained": {
			[]*document.Load{loadOf(100, time.Millisecond, late, lag), loadOf(100, time.Millisecond, late, 1), loadOf(100, 2*time.Millisecond, late, 1)},
			2 * time.Millisecond, "the median of 3 runs, whose p99 from the send were 1 ms, 2 ms, not sustained",
		},
		"two not sustained": {
			[]*document.Load{loadOf(100, time.Millisecond, late, lag), loadOf(100, time.Millisecond, late, 1), loadOf(100, 2*time.Millisecond, late, lag)},
			0, "the median of 3 runs, whose p99 from the send were 1 ms, not sustained, not sustained",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, next := rungAt(100), 0
			spec.Rounds = len(c.loads)
			r := &runner{meter: silent{}, rows: []*row{newRow(spec, false)}}
			r.run = func(context.Context, string, *matrix.Spec, size) *program.Answer {
				next++
				return &program.Answer{Load: c.loads[next-1]}
			}
			rows, err := r.measure(t.Context())
			if err != nil || rows[0].Load == nil || !slices.Equal(rows[0].Notes, []string{c.note}) {
				t.Fatalf("%+v, %v", rows[0], err)
			}
			if l := rows[0].Load; (l.PeakLag == lag) != (c.want == 0) || c.want > 0 && l.FromSend.P99 != int64(c.want) {
				t.Errorf("took %+v, p99 %v", l, time.Duration(l.FromSend.P99))
			}
		})
	}
}

// A tape is a meter that remembers.
type tape struct {
	planned, begun []string
	results        []string
}

func (m *tape) Plan(steps []progress.Step) {
	for _, s := range steps {
		m.planned = append(m.planned, s.Name)
	}
}
func (m *tape) Begin(name string) { m.begun = append(m.begun, name) }
func (m *tape) End(result string) { m.results = append(m.results, result) }

// TestToolchainMissing wants a reason in each row, and every planned step begun.
func TestToolchainMissing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, s := range []*source{&goPeers, &rustPeers} {
		if err := os.MkdirAll(filepath.Join(root, filepath.FromSlash(s.folder)), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	meter := &tape{}
	o := Options{Root: root, Quick: true, found: func(string) (string, error) { return "", errors.New("no such tool") }}
	rows, err := Run(t.Context(), o, meter)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		want := "go is not installed"
		if r.Subject == Shove || r.Subject == RustStream {
			want = "cargo is not installed"
		}
		if r.NotShown == nil || r.NotShown.Code != document.NotMeasured || r.NotShown.Text != want {
			t.Fatalf("%v: %+v, want %q", r.Cell, r.NotShown, want)
		}
	}
	if !slices.Equal(meter.planned, meter.begun) || len(meter.results) != len(meter.begun) {
		t.Errorf("planned %d steps, began %d, ended %d", len(meter.planned), len(meter.begun), len(meter.results))
	}
}

// TestNoCheckout is a program that was installed without the sources.
func TestNoCheckout(t *testing.T) {
	t.Parallel()
	cells, err := matrix.Only(Cells(), "subject=shove rate=5000")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Run(t.Context(), Options{Root: t.TempDir(), Cells: cells}, nil)
	if err != nil || !strings.Contains(rows[0].NotShown.Text, "from a checkout") {
		t.Errorf("%v, %+v", err, rows[0].NotShown)
	}
}

// TestBuildFails shows the last line of what the tool said.
func TestBuildFails(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "go.mod"), []byte("module broken\n\ngo 1.26.0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "main.go"), []byte("package main\n\nfunc main() { missing() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := goPeers
	broken.folder = "."
	o := Options{Root: root, Cells: []matrix.Spec{timed(matrix.Wherry)}, sources: []*source{&broken}}
	rows, err := Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := rows[0].NotShown; n == nil || !strings.Contains(n.Text, "undefined: missing") {
		t.Errorf("%+v", n)
	}
}

func TestComplaint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, want string }{
		{"", "no disk"},
		{"one\ntwo\n\n", "two"},
		{"panic: no bed [recovered]\n\ngoroutine 1 [running]:\nmain.go:3 +0x1\n", "panic: no bed [recovered]"},
		{"thread 'main' panicked at src/main.rs:1:1:\nno bed\nnote: run with a backtrace\n", "no bed"},
	} {
		if got := complaint(c.said, errors.New("no disk")); got != c.want {
			t.Errorf("%q: %q, want %q", c.said, got, c.want)
		}
	}
}
