package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
)

// An app is a service as a user writes it, on the broker under test: a topic of texts, its publisher and its consumers.
type app struct {
	t     *T
	l     *line
	topic wherry.Topic[string]
	pub   *wherry.Publisher[string]
	calls calls
}

// app returns a service on a fresh topic for the kind of the case.
func (t *T) app(opts ...wherry.TopicOption) *app {
	return t.appOn(t.line(), opts...)
}

// appOn returns a service on a line.
func (t *T) appOn(l *line, opts ...wherry.TopicOption) *app {
	a := &app{t: t, l: l}
	if l.kind.fanout {
		opts = append(opts, wherry.Fanout(l.topic.Groups...))
	}
	a.topic = wherry.NewTopic(l.topic.Name, codec.Text{}, opts...)
	a.pub = t.publisher(l.b, a.topic)
	return a
}

func (t *T) publisher(b driver.Broker, topic wherry.Topic[string]) *wherry.Publisher[string] {
	p, err := wherry.NewPublisher(t.soon(), b, topic)
	if err != nil {
		t.Fatalf("NewPublisher: %v", err)
	}
	t.Cleanup(func() { t.closing("Publisher.Close", p.Close) })
	return p
}

// publish publishes texts; each must be confirmed.
func (a *app) publish(texts ...string) {
	for _, text := range texts {
		if err := a.pub.Publish(a.t.soon(), &text, wherry.WithID(text)); err != nil {
			a.t.Fatalf("Publish: %v", err)
		}
	}
}

// texts returns n texts, each of which is its own id.
func texts(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("text-%04d", i)
	}
	return out
}

func (a *app) source() wherry.Source[string] { return a.sourceOf(a.l) }

// sourceOf is where the topic's messages come from, as the line sees it.
func (a *app) sourceOf(l *line) wherry.Source[string] {
	switch b := l.b.(type) {
	case driver.Grouper:
		if l.kind.grouped {
			return wherry.Group(b, l.group, a.topic)
		}
		if q, ok := l.b.(driver.Queuer); ok {
			return wherry.Queue(q, a.topic)
		}
	case driver.Queuer:
		return wherry.Queue(b, a.topic)
	}
	a.t.Fatalf("%T has no %s", l.b, l.kind.name)
	return wherry.Source[string]{}
}

// A service is a Run under way.
type service struct {
	t      *T
	cancel context.CancelFunc
	result chan error
	err    error
	once   sync.Once
}

// handle runs a consumer of the app's topic.
func (a *app) handle(h wherry.Handler[string], opts ...wherry.ConsumeOption) *service {
	return a.t.start(wherry.Consume(a.source(), h, opts...))
}

// start runs consumers until stop, or until the end of the case. It returns when all are ready, or Run has returned.
func (t *T) start(consumers ...*wherry.Consumer) *service {
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{t: t, cancel: cancel, result: make(chan error, 1)}
	rs := make([]wherry.Runner, len(consumers))
	for i, c := range consumers {
		rs[i] = c
	}
	go func() { s.result <- wherry.Run(ctx, rs...) }()
	t.Cleanup(s.stop)
	ready := func(c *wherry.Consumer) bool { return c.Health().Ready }
	if !t.eventually(func() bool { return len(s.result) > 0 || !slices.ContainsFunc(consumers, not(ready)) }) {
		t.Errorf("a consumer was not ready within %v: %+v", t.h.Wait, consumers[0].Health())
	}
	return s
}

func not[V any](f func(V) bool) func(V) bool { return func(v V) bool { return !f(v) } }

// stop ends Run and waits for it; it must return nil. A broker that forgets at exit may have left messages.
func (s *service) stop() {
	if err := s.end(); err != nil {
		if left, ok := errors.AsType[*wherry.AbandonedError](err); !ok || left.Handlers > 0 {
			s.t.Errorf("Run: %v", err)
		}
	}
}

// end ends Run, waits for it, and returns its error.
func (s *service) end() error {
	s.once.Do(func() {
		s.cancel()
		const most = 2 * time.Minute // the drain time and what belongs to it
		timer := time.NewTimer(most)
		defer timer.Stop()
		select {
		case s.err = <-s.result:
		case <-timer.C:
			s.err = fmt.Errorf("it did not return within %v", most)
		}
	})
	return s.err
}

// deadLetters returns the app's dead-letter topic, as a line.
func (a *app) deadLetters() *line {
	name := a.topic.Name() + ".dlq"
	if a.l.kind.grouped {
		name = a.topic.Name() + "." + a.l.group + ".dlq"
	}
	return &line{
		t: a.t, b: a.l.b, kind: queueKind, topic: driver.Topic{Name: name, Role: driver.DeadLetter},
	}
}

// calls are the handler calls of an app, in their order.
type calls struct {
	mu  sync.Mutex // guards all
	all []call
}

// tooManyCalls is where a handler begins to take time, so that a driver that never ends a message cannot keep a bubble
// busy for ever.
const tooManyCalls = 20_000

type call struct {
	id        string
	attempt   int
	delivered int
	at        time.Time
}

// add notes a call and returns how many there were of that message, this one included.
func (c *calls) add(m *wherry.Message[string]) int {
	if c.count() > tooManyCalls {
		<-time.After(time.Millisecond)
	}
	one := call{id: m.ID(), attempt: m.Attempt(), delivered: m.Delivered(), at: time.Now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
	n := 0
	for i := range c.all {
		if c.all[i].id == one.id {
			n++
		}
	}
	return n
}

// of returns the calls of one message.
func (c *calls) of(id string) []call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.all), func(one call) bool { return one.id != id })
}

// ids returns the ids of all calls.
func (c *calls) ids() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, len(c.all))
	for i := range c.all {
		out[i] = c.all[i].id
	}
	return out
}

func (c *calls) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

func (c *calls) attempts(id string) []int {
	var out []int
	for _, one := range c.of(id) {
		out = append(out, one.attempt)
	}
	return out
}

// reach waits until there were n calls.
func (a *app) reach(n int) {
	if !a.t.eventually(func() bool { return a.calls.count() >= n }) {
		a.t.Fatalf("%d handler calls within %v, want %d", a.calls.count(), a.t.h.Wait, n)
	}
}

// exactly waits for n calls and fails the case when more come.
func (a *app) exactly(n int) {
	a.reach(n)
	a.t.pause(a.t.h.Quiet)
	if got := len(a.calls.ids()); got != n {
		a.t.Errorf("%d handler calls, want %d: %q", got, n, a.calls.ids())
	}
}
