package input_test

import (
	"context"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

var (
	words = wherry.NewTopic("words", codec.Text{})
	fan   = wherry.NewTopic("fan", codec.Text{}, wherry.Fanout("g"))
	keyed = wherry.NewKeyedTopic("keyed", codec.Text{}, func(dst []byte, v *string) []byte { return append(dst, *v...) })
)

func ack(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }

func ackAll(context.Context, *wherry.MessageBatch[string]) wherry.Outcome { return wherry.Ack() }

// A world is a broker and what was asked of it.
type world struct {
	*testing.T
	b *mem.Broker
}

// attack is one try, by a name that says what it does.
func attack(t *testing.T, name string, try func(w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := &world{T: t, b: mem.New(mem.Config{Poison: true})}
			before, _ := w.goroutines()
			try(w)
			if err := w.b.Close(t.Context()); err != nil {
				t.Errorf("close the broker: %v", err)
			}
			synctest.Wait()
			if after, stacks := w.goroutines(); after != before {
				t.Errorf("%d goroutines are left, there were %d before:\n%s", after, before, stacks)
			}
		})
	})
}

// refuses wants an error that is the package's own and says each of the texts.
func (w *world) refuses(err error, says ...string) {
	w.Helper()
	if err == nil {
		w.Errorf("it is taken, want an error that says %q", says)
		return
	}
	if !strings.HasPrefix(err.Error(), "wherry: ") {
		w.Errorf("%q does not say whose it is", err)
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			w.Errorf("got %q, want it to say %q", err, text)
		}
	}
}

// publisher is one that is closed with the try.
func publisher[T any](w *world, t wherry.TopicOf[T], opts ...wherry.PublishOption) *wherry.Publisher[T] {
	w.Helper()
	p, err := wherry.NewPublisher(w.Context(), w.b, t, opts...)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// publish publishes texts.
func (w *world) publish(texts ...string) {
	w.Helper()
	p := publisher(w, words)
	for _, text := range texts {
		if err := p.Publish(w.Context(), &text); err != nil {
			w.Fatal(err)
		}
	}
	if err := p.Close(w.Context()); err != nil {
		w.Error(err)
	}
}

// runs gives r some time, stops it, and returns what Run returned.
func (w *world) runs(r wherry.Runner, d time.Duration) error {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context(), d)
	defer stop()
	return wherry.Run(ctx, r)
}

// mustRun runs r, which has to end cleanly.
func (w *world) mustRun(r wherry.Runner, d time.Duration) {
	w.Helper()
	if err := w.runs(r, d); err != nil {
		w.Errorf("Run: %v", err)
	}
}

// left is what a topic has, in any state.
func (w *world) left(topic string, want int) {
	w.Helper()
	d, err := w.b.Depth(w.Context(), driver.Source{Topics: []driver.Topic{{Name: topic}}})
	if err != nil {
		w.Error(err)
	}
	if got := int(d.Ready + d.Held + d.InFlight); got != want {
		w.Errorf("%d are in %s, want %d", got, topic, want)
	}
}

// A tally counts by text.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[text]++
	return c.n[text]
}

// of is how often a text was counted.
func (c *tally) of(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[text]
}

var bubbleOf = regexp.MustCompile(`, (synctest bubble \d+)\]`)

// goroutines counts those of the bubble, and returns their stacks.
func (w *world) goroutines() (n int, stacks string) {
	w.Helper()
	buf := make([]byte, 1<<20)
	size := runtime.Stack(buf, true)
	for size == len(buf) {
		buf = make([]byte, 2*len(buf))
		size = runtime.Stack(buf, true)
	}
	var own string
	var text strings.Builder
	for block := range strings.SplitSeq(string(buf[:size]), "\n\n") {
		head, _, _ := strings.Cut(block, "\n")
		m := bubbleOf.FindStringSubmatch(head)
		if m == nil {
			continue
		}
		if own == "" { // the first is this one
			own = m[1]
		}
		if m[1] == own {
			n++
			text.WriteString(block + "\n\n")
		}
	}
	return n, text.String()
}
