package wherry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// order is what most tests publish.
type order struct {
	ID     int    `json:"id"`
	Text   string `json:"text,omitempty"`
	Amount int    `json:"amount,omitempty"`
}

var orders = wherry.NewTopic("orders", codec.JSON[order]{})

// events records what happened to a consumer, by copies of the events' text.
type events struct {
	mu   sync.Mutex
	seen []wherry.Event
}

// record is the event function. The frequent event is used again by the engine, so it is copied.
func (e *events) record(ev wherry.Event) {
	if h, ok := ev.(*wherry.Handled); ok {
		c := *h
		ev = &c
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen = append(e.seen, ev)
}

// eventsOf returns the recorded events of one type, in order.
func eventsOf[E wherry.Event](e *events) []E {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []E
	for _, ev := range e.seen {
		if own, ok := ev.(E); ok {
			out = append(out, own)
		}
	}
	return out
}

// newMem is an in-process broker that is closed with the test and overwrites what was settled.
func newMem(tb testing.TB) *mem.Broker {
	tb.Helper()
	b := mem.New(mem.Config{Poison: true})
	tb.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			tb.Errorf("close broker: %v", err)
		}
	})
	return b
}

// publish publishes values to a topic.
func publish[T any](tb testing.TB, b driver.Broker, t wherry.TopicOf[T], vs ...T) {
	tb.Helper()
	p, err := wherry.NewPublisher(tb.Context(), b, t)
	if err != nil {
		tb.Fatal(err)
	}
	for i := range vs {
		if err := p.Publish(tb.Context(), &vs[i]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := p.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// A run is wherry.Run in the background.
type run struct {
	tb   testing.TB
	stop context.CancelFunc
	done chan struct{}
	err  error
}

// start runs rs until stopped, or until the end of the test.
func start(tb testing.TB, rs ...wherry.Runner) *run {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	r := &run{tb: tb, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = wherry.Run(ctx, rs...)
	}()
	return r
}

// end stops the run and returns what Run returned.
func (r *run) end() error {
	r.tb.Helper()
	r.stop()
	<-r.done
	return r.err
}

// mustEnd stops the run, which must end cleanly.
func (r *run) mustEnd() {
	r.tb.Helper()
	if err := r.end(); err != nil {
		r.tb.Errorf("Run: %v", err)
	}
}

// calls counts handler calls by a text.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.list...)
}

// collectDead drains the dead letters of a topic. It is called inside a synctest bubble.
func collectDead[T any](tb testing.TB, b driver.Queuer, t wherry.Topic[wherry.DeadLetter[T]]) []*wherry.Message[wherry.DeadLetter[T]] {
	tb.Helper()
	var mu sync.Mutex
	var out []*wherry.Message[wherry.DeadLetter[T]]
	r := start(tb, wherry.Consume(wherry.Queue(b, t), func(_ context.Context, m *wherry.Message[wherry.DeadLetter[T]]) wherry.Outcome {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, m.Clone())
		return wherry.Ack()
	}))
	synctest.Wait()
	r.mustEnd()
	return out
}

// jsonOrders is a codec of order.
type jsonOrders = codec.JSON[order]

// depthOf is what a queue still has, in any state.
func depthOf(tb testing.TB, b *mem.Broker, topic string) int {
	tb.Helper()
	d, err := b.Depth(tb.Context(), driver.Source{Topics: []driver.Topic{{Name: topic}}})
	if err != nil {
		tb.Fatal(err)
	}
	return int(d.Ready + d.Held + d.InFlight)
}
