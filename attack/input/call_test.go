package input_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
)

// inject sends a record to a topic as a foreign program does.
func (w *world) inject(topic string, rs ...driver.Record) {
	w.Helper()
	s, err := w.b.OpenSender(w.Context(), driver.Target{Topic: driver.Topic{Name: topic}})
	if err != nil {
		w.Fatal(err)
	}
	if err := errors.Join(s.Send(w.Context(), rs), s.Close(w.Context())); err != nil {
		w.Fatal(err)
	}
}

// Records that no program of ours has sent.
func TestForeignRecords(t *testing.T) {
	t.Parallel()
	far := driver.Stamp(math.MaxInt64)
	for name, c := range map[string]struct {
		control driver.Control
		dead    int
	}{
		"an attempt past every number":        {driver.Control{Attempt: math.MaxInt}, 1},
		"an attempt before the first":         {driver.Control{Attempt: math.MinInt}, 1},
		"a publish in 2262":                   {driver.Control{Published: far}, 1},
		"a publish in 1677":                   {driver.Control{Published: math.MinInt64}, 1},
		"deferred for ever":                   {driver.Control{Deferred: math.MaxInt64, Defers: math.MaxInt}, 1},
		"a failure of nothing":                {driver.Control{Failure: &driver.Failure{}}, 1},
		"a failure of a made-up reason":       {driver.Control{Failure: &driver.Failure{Reason: "\x00", Topic: "else", Attempts: -1}}, 1},
		"a failure with more marks than fits": {driver.Control{Failure: &driver.Failure{Redrives: strings.Repeat("m.", 1<<10)}}, 1},
		"redriven from nowhere":               {driver.Control{Redriven: true}, 1},
		"the hold of another topic":           {driver.Control{Hold: &driver.HoldData{Topic: "else", Group: "g", Fanout: true, Due: 1, Hop: 1}}, 1},
	} {
		attack(t, name, func(w *world) {
			w.inject("words", driver.Record{Body: []byte("bad"), Control: c.control}, driver.Record{Body: []byte("good")})
			var n tally
			w.mustRun(wherry.Consume(wherry.Queue(w.b, words), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
				n.add(m.Value)
				if m.Value == "bad" {
					return wherry.Retry(errors.New("it is bad"))
				}
				return wherry.Ack()
			}), 24*time.Hour)
			if n.of("good") != 1 || n.of("bad") < 1 || n.of("bad") > 5 {
				w.Errorf("%d calls for good and %d for bad, want 1, and 1 to 5", n.of("good"), n.of("bad"))
			}
			w.left("words", 0)
			w.left("words.dlq", c.dead)
		})
	}
}

// hostile is a codec that does as it is told.
type hostile struct {
	codec.Text
	append func(dst []byte, v *string) ([]byte, error)
	decode func(src []byte, v *string) error
}

func (h hostile) Append(dst []byte, v *string) ([]byte, error) {
	if h.append != nil && *v == "bad" {
		return h.append(dst, v)
	}
	return h.Text.Append(dst, v)
}

func (h hostile) Decode(src []byte, v *string) error {
	if h.decode != nil && string(src) == "bad" {
		return h.decode(src, v)
	}
	return h.Text.Decode(src, v)
}

func (hostile) Copies(any) bool { return false }

// What a codec refuses is undecodable, and its neighbours are handled.
func TestCodecs(t *testing.T) {
	t.Parallel()
	var none *wordy
	for name, decode := range map[string]func(src []byte, v *string) error{
		"decode with an error that is nil inside": func([]byte, *string) error { return none },
		"decode with an error without a text":     func([]byte, *string) error { return &blank{} },
		"decode that panics":                      func([]byte, *string) error { panic("no") },
		"decode that panics with nil":             func([]byte, *string) error { panic(nil) }, //nolint:govet // It is the try.
		"decode that reads past the end":          func(src []byte, _ *string) error { n := len(src); _ = src[n]; return nil },
	} {
		attack(t, name, func(w *world) {
			w.publish("good", "bad", "good")
			topic := wherry.NewTopic("words", hostile{decode: decode})
			var n tally
			w.mustRun(wherry.Consume(wherry.Queue(w.b, topic), func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
				n.add(m.Value)
				return wherry.Ack()
			}), time.Hour)
			if n.of("good") != 2 || n.of("bad") != 0 {
				w.Errorf("%d calls for good and %d for bad, want 2 and none", n.of("good"), n.of("bad"))
			}
			w.left("words", 0)
			w.left("words.dlq", 1)
		})
	}
	for name, fail := range map[string]func(dst []byte, v *string) ([]byte, error){
		"append with an error that is nil inside": func(dst []byte, _ *string) ([]byte, error) { return dst, none },
		"append with an error and a body":         func(dst []byte, _ *string) ([]byte, error) { return append(dst, "half"...), errors.New("no more") },
	} {
		attack(t, name, func(w *world) {
			p := publisher(w, wherry.NewTopic("words", hostile{append: fail}))
			good, bad := "good", "bad"
			if err := p.Publish(w.Context(), &bad); !errors.Is(err, wherry.ErrNotSent) {
				w.Errorf("got %v, want one that says it is not sent", err)
			}
			if err := errors.Join(p.Publish(w.Context(), &good), p.Close(w.Context())); err != nil {
				w.Error(err)
			}
			w.left("words", 1)
		})
	}
}

// Calls in a wrong order.
func TestOrderOfCalls(t *testing.T) {
	t.Parallel()
	attack(t, "run twice at a time", func(w *world) {
		c := wherry.Consume(wherry.Queue(w.b, words), ack)
		w.refuses(w.runs(wherry.Join(c, c), time.Hour), "already running")
	})
	attack(t, "run twice in turn", func(w *world) {
		c := wherry.Consume(wherry.Queue(w.b, words), ack)
		w.mustRun(c, time.Second)
		w.publish("a")
		w.mustRun(c, time.Second)
		w.left("words", 0)
	})
	attack(t, "a pause that is resumed twice, before a run", func(w *world) {
		c := wherry.Consume(wherry.Queue(w.b, words), ack)
		resume := c.Pause("early")
		resume()
		resume()
		w.publish("a")
		w.mustRun(c, time.Second)
		w.left("words", 0)
	})
	attack(t, "what is prepared is started when all is over", func(w *world) {
		start, err := wherry.Consume(wherry.Queue(w.b, words), ack).Prepare(w.Context())
		if err != nil {
			w.Fatal(err)
		}
		ctx, stop := context.WithCancel(w.Context())
		stop()
		if err := start(ctx); err != nil {
			w.Error(err)
		}
	})
	attack(t, "a run on a broker that is closed", func(w *world) {
		if err := w.b.Close(w.Context()); err != nil {
			w.Error(err)
		}
		if err := w.runs(wherry.Consume(wherry.Queue(w.b, words), ack), time.Hour); !errors.Is(err, wherry.ErrClosed) {
			w.Errorf("got %v, want closed", err)
		}
	})
	attack(t, "what is half built is explained and asked for its health", func(w *world) {
		for _, c := range []*wherry.Consumer{nil, {}, wherry.Consume(wherry.Source[string]{}, nil, nil)} {
			_, _ = wherry.Explain(c).String(), c.Health()
			w.refuses(w.runs(c, time.Hour))
		}
	})
	attack(t, "an event function that pauses its consumer after each message", func(w *world) {
		w.publish("a", "b")
		var c *wherry.Consumer
		c = wherry.Consume(wherry.Queue(w.b, words), ack, wherry.OnEvent(func(e wherry.Event) {
			_ = c.Health()
			if _, ok := e.(*wherry.Handled); ok {
				c.Pause("in an event")()
			}
		}))
		w.mustRun(c, time.Minute)
		w.left("words", 0)
	})
	attack(t, "an event function that pauses its consumer at each event", func(w *world) {
		w.publish("a", "b")
		var c *wherry.Consumer
		c = wherry.Consume(wherry.Queue(w.b, words), ack, wherry.OnEvent(func(wherry.Event) { c.Pause("in an event")() }))
		time.AfterFunc(time.Second, func() { c.PauseFor(time.Second, "a rest") })
		w.mustRun(c, time.Minute)
		w.left("words", 0)
	})
	attack(t, "event functions that pause for a resume and resume for a pause", func(w *world) {
		w.publish("a", "b")
		var c *wherry.Consumer
		resume := func() {}
		c = wherry.Consume(wherry.Queue(w.b, words), ack, wherry.OnEvent(func(e wherry.Event) {
			switch e.(type) {
			case *wherry.Paused:
				resume()
			case *wherry.Resumed:
				resume = c.Pause("again")
			}
		}))
		resume = c.Pause("early")
		w.refuses(w.runs(c, time.Minute), "2 messages left in words") // the last function that was called paused it
		resume()
		w.mustRun(c, time.Minute)
		w.left("words", 0)
	})
	attack(t, "an event function that panics at each event", func(w *world) {
		w.publish("a", "b")
		w.mustRun(wherry.Consume(wherry.Queue(w.b, words), ack, wherry.OnEvent(func(wherry.Event) { panic("no") })), time.Minute)
		w.left("words", 0)
	})
	attack(t, "a handler that ends its goroutine", func(w *world) {
		w.publish("a")
		var n atomic.Int32
		w.mustRun(wherry.Consume(wherry.Queue(w.b, words), func(context.Context, *wherry.Message[string]) wherry.Outcome {
			if n.Add(1) < 3 {
				runtime.Goexit()
			}
			return wherry.Ack()
		}), time.Minute)
		w.left("words", 0)
		w.left("words.dlq", 0)
	})
	attack(t, "a redrive whose filter panics gives all back", func(w *world) {
		w.publish("a", "b")
		w.mustRun(wherry.Consume(wherry.Queue(w.b, words), func(context.Context, *wherry.Message[string]) wherry.Outcome {
			return wherry.Reject(nil)
		}), time.Minute)
		func() {
			defer func() {
				if recover() == nil {
					w.Error("the panic is swallowed")
				}
			}()
			_, _ = wherry.Redrive(w.Context(), w.b, words, wherry.RedriveIf(func(wherry.DeadLetterInfo, wherry.AnyMessage) bool { panic("no") }))
		}()
		w.left("words.dlq", 2)
		if done, err := wherry.Redrive(w.Context(), w.b, words); err != nil || done.Moved != 2 {
			w.Errorf("moved %d with %v, want 2", done.Moved, err)
		}
	})
	attack(t, "ten thousand keys in a sequence", func(w *world) {
		p := publisher(w, keyed)
		for i := range 10_000 {
			text := strconv.Itoa(i)
			if err := p.Publish(w.Context(), &text); err != nil {
				w.Fatal(err)
			}
		}
		if err := p.Close(w.Context()); err != nil {
			w.Error(err)
		}
		var n atomic.Int32
		w.mustRun(wherry.Consume(wherry.Sequence(w.b, keyed), func(context.Context, *wherry.Message[string]) wherry.Outcome {
			n.Add(1)
			return wherry.Ack()
		}, wherry.Concurrency(8)), time.Minute)
		if n.Load() != 10_000 {
			w.Errorf("%d were handled, want 10000", n.Load())
		}
	})
}
