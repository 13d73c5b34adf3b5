package demo

import (
	"bytes"
	"context"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/wherryhq/wherry/cmd/wherry/internal/interrupt"
)

// TestMain starts the signal loop of package os/signal, which would else be among the goroutines of the first test.
func TestMain(m *testing.M) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
	m.Run()
}

// terminal is where a live view writes. It tells when a text was written.
type terminal struct {
	mu     sync.Mutex // guards the fields below
	text   bytes.Buffer
	awaits string
	seen   chan struct{} // closed once awaits was written
}

func newTerminal(awaits string) *terminal {
	return &terminal{awaits: awaits, seen: make(chan struct{})}
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p)
	if t.awaits != "" && strings.Contains(t.text.String(), t.awaits) {
		t.awaits = ""
		close(t.seen)
	}
	return len(p), nil
}

// goroutines returns those that have the label, which a goroutine has from the one that started it.
func goroutines(t *testing.T, label string) []string {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		t.Fatal(err)
	}
	var records []string
	for record := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(record, label) {
			records = append(records, record)
		}
	}
	return records
}

// TestLive runs the live view on a terminal of its own, and presses a key in the middle. What was typed and drawn is
// gone afterwards, and so is every goroutine.
func TestLive(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"control c": "\x03", "q": "q"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			label := "live view, " + name
			pprof.Do(t.Context(), pprof.Labels("test", label), func(ctx context.Context) { testLive(ctx, t, key) })
			ended := time.NewTimer(5 * time.Second)
			defer ended.Stop()
			look := time.NewTicker(time.Millisecond)
			defer look.Stop()
			for left := goroutines(t, label); len(left) > 0; left = goroutines(t, label) {
				select {
				case <-look.C:
				case <-ended.C:
					t.Fatalf("goroutines are left:\n%s", strings.Join(left, "\n\n"))
				}
			}
		})
	}
}

func testLive(ctx context.Context, t *testing.T, key string) {
	t.Helper()
	keys, press, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer keys.Close()
	defer press.Close()
	s, err := newService(ctx, Config{Rate: 500})
	if err != nil {
		t.Fatal(err)
	}
	stopping, in := interrupt.Listen(ctx)
	defer in.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := s.run(stopping); err != nil {
			t.Error(err)
		}
	}()
	screen := newTerminal("ready")
	go func() {
		select {
		case <-screen.seen:
		case <-done:
		}
		look := time.NewTicker(time.Millisecond)
		defer look.Stop()
		for s.ledger.Totals().Published == 0 { // it can be ready before the first order
			select {
			case <-look.C:
			case <-done:
				return
			}
		}
		_, _ = press.WriteString(key)
	}()
	if err := showLive(newCamera(s), in, done, screen, tea.WithInput(keys), tea.WithWindowSize(80, 24)); err != nil {
		t.Error(err)
	}
	<-done
	if totals := s.ledger.Totals(); totals.Published == 0 || totals.Open > 0 {
		t.Errorf("got %+v, want some published and none open", totals)
	}
	text := screen.text.String()
	for _, part := range []string{"\x1b[?1049h", "wherry demo", "payment", "ready", "\x1b[?1049l"} {
		if !strings.Contains(text, part) {
			t.Errorf("the screen never had %q", part)
		}
	}
	if n := strings.Count(text, "\x1b[2J"); n > 2 { // at the start, and when the size is known
		t.Errorf("the screen was cleared %d times, which flickers", n)
	}
}
