package demo

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/cmd/wherry/internal/ledger"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -rewrite writes it anew. got:\n%s\nwant:\n%s", name, got, want)
	}
}

// trimmed is lines without the spaces at their ends.
func trimmed(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// busy is a snapshot in the middle of a run.
func busy() snapshot {
	ready := wherry.Health{State: wherry.StateRunning, Ready: true, InFlight: 3, Backlog: 12}
	stalled := wherry.Health{
		State: wherry.StateStalled, InFlight: 100, Backlog: 1_384,
		Cause: "work waits at the broker and none is delivered",
	}
	return snapshot{
		Elapsed: 67 * time.Second, Duration: 5 * time.Minute, Phase: publishing, Rate: 199.7,
		Totals: ledger.Totals{Published: 13_399, Handled: 11_640, Retried: 1_066, Dead: 375, Open: 1_384, Duplicated: 1},
		Groups: []groupView{
			{
				ledger.GroupTotals{Group: paymentGroup, Handled: 13_213, Dead: 131, Retried: 1_066},
				198.2,
				Latency{3_312 * time.Microsecond, 11 * time.Millisecond, 430 * time.Millisecond, 512 * time.Millisecond},
				ready,
			},
			{
				ledger.GroupTotals{Group: stockGroup, Handled: 13_135, Dead: 244},
				200.1,
				Latency{72 * time.Microsecond, 110 * time.Microsecond, 224 * time.Microsecond, 1_900 * time.Microsecond},
				ready,
			},
			{
				ledger.GroupTotals{Group: reportGroup, Handled: 12_015},
				0,
				Latency{128 * time.Millisecond, 231 * time.Millisecond, 252 * time.Millisecond, 2 * time.Second},
				stalled,
			},
		},
		Reasons: []deadReason{
			{Groups: []string{paymentGroup}, Reason: wherry.ReasonExhausted, Text: "the bank is busy", Count: 131},
			{Groups: []string{stockGroup}, Reason: wherry.ReasonRejected, Text: `no "teapot" in the warehouse`, Count: 121},
			{
				Line: 7, Groups: []string{paymentGroup, reportGroup, stockGroup}, Reason: wherry.ReasonUndecodable, Count: 3,
				Text: "invalid character 'o' in literal \x1b[2Jnull (expecting 'u')",
			},
		},
		Sales:   []sale{{"NO", 1_234_567_00}, {"GB", 345_678_90}, {"NL", 98_765_43}, {"IS", 12_345_67}, {"FO", 1_234_56}},
		Batches: 268,
		Notes: []note{
			{12 * time.Second, "stock is not ready: handler blocked for 1s on message order-2004"},
			{14 * time.Second, "stock is ready again after 2.1s"},
			{61 * time.Second, "report is not ready: work waits at the broker and none is delivered"},
		},
	}
}

// stuck is a snapshot of a run in which nothing moves.
func stuck() snapshot {
	s := busy()
	for i := range s.Groups {
		s.Groups[i].Health = s.Groups[2].Health
	}
	return s
}

// over is a snapshot of the end of a run.
func over() snapshot {
	s := busy()
	s.Phase, s.Duration = draining, 0
	s.Others = 12
	for i := range s.Groups {
		s.Groups[i].Health = wherry.Health{State: wherry.StateDraining, Backlog: -1}
	}
	return s
}

func TestScreen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		width, height int
		shot          snapshot
	}{
		"busy-80x24.txt":  {80, 24, busy()},
		"busy-120x40.txt": {120, 40, busy()},
		"stuck-80x24.txt": {80, 24, stuck()},
		"over-80x24.txt":  {80, 24, over()},
		"low-80x16.txt":   {80, 16, busy()},
		"small-40x8.txt":  {40, 8, busy()},
		"empty-80x24.txt": {80, 24, snapshot{Phase: starting}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := screen{styles: newStyles(), width: test.width, height: test.height}
			drawn := v.draw(&test.shot)
			plain := ansi.Strip(drawn)
			lines := strings.Split(plain, "\n")
			if len(lines) != test.height {
				t.Errorf("%d lines on a screen of %d", len(lines), test.height)
			}
			for i, line := range lines {
				if w := ansi.StringWidth(line); w > test.width {
					t.Errorf("line %d is %d wide on a screen of %d: %q", i+1, w, test.width, line)
				}
			}
			if strings.Contains(drawn, "\x1b[2J") {
				t.Error("the text of an error reaches the terminal as a command")
			}
			golden(t, name, trimmed(lines))
		})
	}
}

// TestScreenOfNoSize draws before the size is known, and on terminals that say they have none.
func TestScreenOfNoSize(t *testing.T) {
	t.Parallel()
	shot := busy()
	for _, size := range [][2]int{{0, 0}, {1, 1}, {80, 0}, {0, 24}, {3, 2}} {
		v := screen{styles: newStyles(), width: size[0], height: size[1]}
		lines := strings.Split(v.draw(&shot), "\n")
		if len(lines) > max(size[1], 1) {
			t.Errorf("%d lines on a screen of %d", len(lines), size[1])
		}
	}
}

func TestPlainLine(t *testing.T) {
	t.Parallel()
	middle, end := busy(), over()
	golden(t, "plain.txt", plainLine(&middle)+"\n"+plainLine(&end)+"\n")
}
