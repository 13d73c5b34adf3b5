package versus

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/progress"
	"github.com/wherryhq/wherry/bench/versus/program"
)

// This test binary is a program of subjects as well: a name of a subject that begins with "fake-" says what it does.
func TestMain(m *testing.M) {
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, "-subject=fake-") {
			os.Exit(fake(os.Args[1:]))
		}
	}
	m.Run()
}

func fake(args []string) int {
	o, err := program.Parse(args, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	a := &program.Answer{Settings: []string{"procs=" + os.Getenv("GOMAXPROCS")}}
	ran := answerOf(o.Messages, 1_000_000)
	switch o.Subject {
	case "fake-good":
		a.Run = ran
	case "fake-losing":
		a.Run = ran
		a.Run.Ledger.Handled--
	case "fake-repeating":
		a.Run = ran
		a.Run.Ledger.Duplicated++
	case "fake-silent":
		return 0
	case "fake-talking":
		fmt.Fprintln(os.Stdout, "hello")
		return 0
	case "fake-failing":
		fmt.Fprintln(os.Stderr, "starting\nno room left")
		return 1
	case "fake-endless":
		<-make(chan struct{})
	default:
		return 3
	}
	if a.Print(os.Stdout) != nil {
		return 1
	}
	return 0
}

// answerOf is a run that kept every message, at a rate.
func answerOf(messages int, rate float64) *document.Run {
	n := int64(messages)
	return &document.Run{
		Messages: n, ElapsedNS: int64(float64(n) / rate * 1e9), CPUNS: n, PeakRSS: 1,
		Ledger: document.Ledger{Published: n, Handled: n},
	}
}

func timed(subject string) matrix.Spec {
	return matrix.Spec{
		Cell: cell(subject, matrix.Parallel, 64, 1, matrix.BytesView, 2), Method: document.Live, Rounds: 2, Turn: "turn",
	}
}

// faked runs specs whose programs are this test binary.
func faked(ctx context.Context, t *testing.T, specs ...matrix.Spec) ([]document.Row, error) {
	t.Helper()
	return fakedWith(ctx, t, silent{}, specs...)
}

func fakedWith(ctx context.Context, t *testing.T, meter progress.Meter, specs ...matrix.Spec) ([]document.Row, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{meter: meter, run: once}
	for _, s := range specs {
		r.rows = append(r.rows, newRow(s, true))
		r.rows[len(r.rows)-1].path = self
	}
	return r.measure(ctx)
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	wants := map[string]string{
		"fake-losing":    "1 of ",
		"fake-repeating": "came twice",
		"fake-silent":    "no answer",
		"fake-talking":   "its answer",
		"fake-failing":   "no room left",
		"fake-unknown":   "exit status 3",
	}
	specs := []matrix.Spec{timed("fake-good")}
	for subject := range maps.Keys(wants) {
		specs = append(specs, timed(subject))
	}
	rows, err := faked(t.Context(), t, specs...)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Subject == "fake-good" {
			if len(r.Runs) != 1 || r.NotShown != nil || strings.Join(r.Settings, " ") != "procs=2" {
				t.Errorf("%+v", r)
			}
			continue
		}
		if r.NotShown == nil || r.NotShown.Code != document.Failed || !strings.Contains(r.NotShown.Text, wants[r.Subject]) || len(r.Runs) > 0 {
			t.Errorf("%s: %+v, want a failure with %q", r.Subject, r.NotShown, wants[r.Subject])
		}
	}
	valid(t, rows)
}

// valid has the document judge rows.
func valid(t *testing.T, rows []document.Row) {
	t.Helper()
	for i := range rows {
		if (rows[i].NotShown == nil) == (len(rows[i].Runs) == 0 && rows[i].Load == nil) {
			t.Errorf("%v has neither or both of values and a reason", rows[i].Cell)
		}
	}
}

// interrupting is a meter that ends the run while the step after a number of them is being measured, however long that takes
// to begin.
type interrupting struct {
	silent
	after  int
	cancel context.CancelFunc
}

func (m *interrupting) End(string) { m.after-- }

func (m *interrupting) Begin(string) {
	if m.after == 0 {
		time.AfterFunc(50*time.Millisecond, m.cancel)
	}
}

// TestInterrupt ends a run that would never end. What was finished stays.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	endless := timed("fake-endless")
	endless.Turn = "next"
	rows, err := fakedWith(ctx, t, &interrupting{after: 1, cancel: cancel}, timed("fake-good"), endless)
	if err == nil {
		t.Error("no error")
	}
	if len(rows[0].Runs) != 1 {
		t.Errorf("what was finished: %+v", rows[0])
	}
	if n := rows[1].NotShown; n == nil || n.Code != document.NotMeasured || n.Text != interrupted {
		t.Errorf("what was not: %+v", n)
	}
}
