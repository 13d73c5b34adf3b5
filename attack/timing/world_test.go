package timing_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

const (
	// drain and grace are the engine's own, and those of each consumer that a try does not give others.
	drain = 30 * time.Second
	grace = time.Second
	// forever is longer than anything waits.
	forever = 48 * time.Hour
)

// A place makes the broker of a world.
type place func(w *world)

// attack is one try, by a name that says what it does, on a broker of its own.
func attack(t *testing.T, name string, on place, try func(w *world)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			w := &world{T: t, within: drain + 2*grace, publishers: map[string]*wherry.Publisher[item]{}}
			w.base, _ = w.goroutines()
			on(w)
			try(w)
			w.end()
		})
	})
}

// A world is a broker, what was published to it, and what became of that.
type world struct {
	*testing.T
	broker broker         // what consumers are given
	mem    *mem.Broker    // nil on a log
	log    *mem.LogBroker // nil on queues
	stand  *stand         // nil where consumers have the broker itself
	within time.Duration  // a stop lasts at most

	base   int // goroutines before anything began
	books  []*book
	runs   []*run
	checks []func() // when all books are closed
	closed bool     // the broker
	left   int      // messages, as runs said

	mu         sync.Mutex // guards the fields below
	rng        *rand.Rand
	publishers map[string]*wherry.Publisher[item]
}

// seed has roll begin anew.
func (w *world) seed(n uint64) { w.rng = rand.New(rand.NewPCG(n, 99)) }

// roll is a number from 0 to n-1.
func (w *world) roll(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// ms is a random time of less than n milliseconds.
func (w *world) ms(n int) time.Duration { return time.Duration(w.roll(n)) * time.Millisecond }

func (w *world) faults() *mem.Faults { return w.mem.Faults() }

// A run is wherry.Run, or a loop, beside the try.
type run struct {
	w     *world
	stop  context.CancelFunc
	done  chan struct{}
	err   error
	ended bool
}

// start runs rs until the run is ended.
func (w *world) start(rs ...wherry.Runner) *run {
	w.Helper()
	return w.beside(func(ctx context.Context) error { return wherry.Run(ctx, rs...) })
}

// beside runs f until the run is ended.
func (w *world) beside(f func(ctx context.Context) error) *run {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	r := &run{w: w, stop: stop, done: make(chan struct{})}
	w.runs = append(w.runs, r)
	go func() {
		defer close(r.done)
		r.err = errors.New("it ended its goroutine")
		r.err = f(ctx)
	}()
	return r
}

// end stops the run, which has to return in time, and returns what it returned.
func (r *run) end() error {
	r.w.Helper()
	r.stop()
	return r.wait()
}

// wait waits for a run that was stopped, or is about to end by itself.
func (r *run) wait() error {
	r.w.Helper()
	late := time.NewTimer(r.w.within)
	defer late.Stop()
	select {
	case <-r.done:
	case <-late.C:
		_, stacks := r.w.goroutines()
		r.w.Fatalf("the run has not ended %v after its stop:\n%s", r.w.within, stacks)
	}
	if left, ok := errors.AsType[*wherry.AbandonedError](r.err); ok && !r.ended {
		r.w.left += left.Left
	}
	r.ended = true
	return r.err
}

// mustEnd stops the run, which has to end cleanly.
func (r *run) mustEnd() {
	r.w.Helper()
	if err := r.end(); err != nil {
		r.w.Errorf("Run: %v", err)
	}
}

// endLeaving stops the run, which has to say what it left undone.
func (r *run) endLeaving(handlers, messages int) {
	r.w.Helper()
	err := r.end()
	left, ok := errors.AsType[*wherry.AbandonedError](err)
	if !ok || left.Handlers != handlers || left.Left != messages {
		r.w.Errorf("Run: %v, want %d handlers and %d messages left", err, handlers, messages)
	}
}

// endAnyhow stops the run, which may have left messages behind, and no handlers.
func (r *run) endAnyhow() {
	r.w.Helper()
	if err := r.end(); err != nil {
		if left, ok := errors.AsType[*wherry.AbandonedError](err); !ok || left.Handlers > 0 {
			r.w.Errorf("Run: %v, want at most messages left", err)
		}
	}
}

// end ends what still runs, closes the books, and looks for what is left of it all.
func (w *world) end() {
	w.Helper()
	for _, r := range w.runs {
		if !r.ended {
			r.mustEnd()
		}
	}
	if w.mem != nil {
		w.faults().Clear()
	} else {
		w.log.Faults().Reconnect()
	}
	for name, p := range w.publishers {
		if err := p.Close(w.Context()); err != nil && !w.closed {
			w.Errorf("close the publisher of %s: %v", name, err)
		}
	}
	for _, b := range w.books {
		b.audit()
	}
	for _, check := range w.checks {
		check()
	}
	if err := w.broker.Close(w.Context()); err != nil {
		w.Errorf("close the broker: %v", err)
	}
	synctest.Wait()
	if n, stacks := w.goroutines(); n != w.base {
		w.Errorf("%d goroutines are left, there were %d before:\n%s", n, w.base, stacks)
	}
}

// closeBroker closes the broker, which forgets all. What is missing by then it must have had.
func (w *world) closeBroker() {
	w.Helper()
	for _, b := range w.books {
		b.weigh()
	}
	w.closed = true
	if err := w.broker.Close(w.Context()); err != nil {
		w.Errorf("close the broker: %v", err)
	}
}

// wipe has the broker forget its topics. What it had is its own loss.
func (w *world) wipe() {
	for _, b := range w.books {
		b.excuse()
	}
	if w.mem != nil {
		w.faults().WipeTopology()
	} else {
		w.log.Faults().WipeTopology()
	}
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
		if own == "" { // the first is this one
			if m == nil {
				w.Fatalf("no bubble in %q", head)
			}
			own = m[1]
		}
		if len(m) > 1 && m[1] == own {
			n++
			text.WriteString(block + "\n\n")
		}
	}
	return n, text.String()
}

// what is left in a topic of the broker, in any state.
func (w *world) depth(s driver.Source) int {
	w.Helper()
	d, err := w.broker.Depth(w.Context(), s)
	if errors.Is(err, driver.ErrNoTopic) {
		return 0
	}
	if err != nil {
		w.Errorf("depth of %s: %v", s.Topics[0].Name, err)
	}
	return int(d.Ready + d.Held + d.InFlight)
}

// take takes all that a topic of the broker has, waiting for what is not due. Nobody else consumes it.
func (w *world) take(s driver.Source) []item {
	w.Helper()
	want := w.depth(s)
	if want == 0 {
		return nil
	}
	open := w.broker.OpenQueue
	if s.Group != "" {
		open = w.broker.OpenGroup
	}
	s.Prefetch = want
	r, err := open(w.Context(), s)
	if err != nil {
		w.Errorf("open %s: %v", s.Topics[0].Name, err)
		return nil
	}
	defer r.Close(w.Context())
	ctx, stop := context.WithTimeout(w.Context(), forever)
	defer stop()
	var all []item
	for len(all) < want {
		got, err := r.Receive(ctx, make([]*driver.Delivery, 0, want))
		for _, d := range got {
			var v item
			if err := json.Unmarshal(d.Body, &v); err != nil {
				v.Key = fmt.Sprintf("%q", d.Body)
			}
			all = append(all, v)
		}
		if err != nil {
			w.Errorf("%d of %d in %s, then %v", len(all), want, s.Topics[0].Name, err)
			break
		}
	}
	return all
}
