package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/mem"
)

// A kind is a kind of row, small in everything but its number of messages.
type kind struct {
	name  string
	spec  matrix.Spec
	keys  func(string) bool // of the deliveries that a fault may have, where not every key will do
	at    int64             // the number of the one that has it; zero is one in the middle, or the first
	topic string            // that of the faults, where it is not the topic that is published to
	blind bool              // neighbours have no order, so that nobody sees them swapped
	whole bool              // it settles by transactions, of which none is settled early
}

func spec(method document.Method, flow string, consumers int) matrix.Spec {
	s := matrix.Spec{
		Cell: document.Cell{
			Subject: matrix.Wherry, Flow: flow, Payload: 16, Consumers: consumers, Handler: matrix.Zero,
			Codec: matrix.BytesView, Procs: 2,
		},
		Method: method, Ordered: consumers == 1 && flow != matrix.DeadLetter, MaxBodies: 1 << 30,
	}
	if flow == matrix.Batch {
		s.BatchSize, s.BatchAge = matrix.BatchSize, matrix.BatchAge
	}
	if method != document.Drain {
		s.Bound = matrix.Bound
	}
	if method == document.Offered {
		s.Length = time.Second
	}
	return s
}

func with(s matrix.Spec, change func(*matrix.Spec)) matrix.Spec {
	change(&s)
	return s
}

// poisonedSpec is a sequence of which the last key fails, and isWell are the others.
var poisonedSpec = with(spec(document.Drain, matrix.Sequence, 4), func(s *matrix.Spec) {
	s.Keys, s.Ordered, s.Poisoned = matrix.Keys, true, true
})

func isWell(key string) bool { return key != "key-"+strconv.Itoa(matrix.Keys-1) }

func kinds() []kind {
	return []kind{
		{name: "drain", spec: spec(document.Drain, matrix.Parallel, 1)},
		{name: "drain, four", spec: spec(document.Drain, matrix.Parallel, 4)},
		{name: "batch", spec: spec(document.Drain, matrix.Batch, 1)},
		{name: "group", spec: spec(document.Drain, matrix.Group, 1)},
		{name: "transaction", whole: true, spec: with(spec(document.Drain, matrix.Transaction, 1), func(s *matrix.Spec) {
			s.BatchSize = matrix.BatchSize
		})},
		{name: "sequence", spec: with(spec(document.Drain, matrix.Sequence, 1), func(s *matrix.Spec) { s.Keys, s.Ordered = 1, true })},
		{name: "poisoned", blind: true, keys: isWell, spec: poisonedSpec},
		{name: "broadcast", spec: with(spec(document.Drain, matrix.Broadcast, 1), func(s *matrix.Spec) { s.Ordered = true })},
		{name: "dead letters", spec: spec(document.Drain, matrix.DeadLetter, 2), topic: topicName + ".dlq"},
		{name: "publish", spec: with(spec(document.Drain, matrix.Publish, 1), func(s *matrix.Spec) { s.Ordered = true })},
		{name: "publish many", spec: with(spec(document.Drain, matrix.PublishBatch, 1), func(s *matrix.Spec) {
			s.Ordered, s.BatchSize = true, 100
		})},
		{name: "live", spec: spec(document.Live, matrix.Parallel, 1)},
		{name: "live, workers", spec: with(spec(document.Live, matrix.Parallel, 4), func(s *matrix.Spec) { s.Workers = 4 })},
		{name: "live, many", spec: with(spec(document.Live, matrix.Parallel, 1), func(s *matrix.Spec) { s.BatchSize = 100 })},
		{name: "offered", spec: spec(document.Offered, matrix.Parallel, 1)},
		{name: "offered, batch", spec: spec(document.Offered, matrix.Batch, 1)},
		{name: "lever", spec: with(spec(document.Drain, matrix.Parallel, 4), func(s *matrix.Spec) {
			s.Workers, s.Prefetch, s.RoundTrip = 4, 512, time.Millisecond
		})},
	}
}

// run measures a kind of row in virtual time, on a broker with a fault in the middle or, for one that can only be seen
// before a handler is done, at the start.
func (k kind) run(t *testing.T, f fault, messages int) Report {
	t.Helper()
	k.spec.Rate = messages
	o := Order{Backend: "mem", Spec: k.spec, Messages: messages, Stop: k.spec.Prefetch > 0}
	b := &faulty{fault: f, topic: k.topic, at: int64(messages) * 2 / 3, keys: k.keys}
	if b.topic == "" {
		b.topic = topicName
	}
	if f == hushed {
		b.at = 0
	}
	if k.at > 0 {
		b.at = k.at
	}
	s, err := newStage(o, func(Order) (broker, error) {
		b.Broker = mem.New(mem.Config{MaxMessages: messages + spare})
		return b, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if k.spec.Method == document.Offered {
		r = offered(t.Context(), s, views(k.spec.Payload), virtualPace)
	} else {
		r = measureOn(t.Context(), s)
	}
	if err := s.close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	return r
}

// virtualPace is a pacer that sleeps, which virtual time lets it do exactly, but no less than lets it send some at once.
func virtualPace(s *matrix.Spec) *pacer {
	p := newPacer(s.Rate, s.Length)
	p.idle = func(until int64, _ int) { time.Sleep(max(time.Millisecond, time.Duration(until-p.now()))) }
	return p
}

// A broker that treats one message in 100,000 wrongly makes every kind of row a failure without a number.
func TestOneFaultMakesARowVoid(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			for f, want := range map[fault]string{
				lose: "1 were lost", repeat: "1 were handled more than once", swap: "1 were handled out of order",
				early: "1 were settled before their handler was done", hushed: "before any handler was done",
			} {
				if f == swap && (!k.spec.Ordered || k.blind) || k.whole && (f == early || f == hushed) {
					continue
				}
				synctest.Test(t, func(t *testing.T) {
					messages := messages
					if f == hushed {
						messages = 5_000 // It is the first, and seen before any other.
					}
					r := k.run(t, f, messages)
					if r.Run != nil || r.Load != nil || r.None == nil || r.None.Code != document.Failed ||
						!voids(r.None.Text, f, want) {
						t.Errorf("%s: got %+v %+v, want a failure that says %q", f, r, r.None, want)
					}
				})
			}
		})
	}
}

// voids reports whether a reason says what a fault does. Before a corpus is drained the broker is asked how many messages
// it has, which tells of one that was lost or is there twice as well.
func voids(text string, f fault, want string) bool {
	counted := (f == lose || f == repeat) && strings.Contains(text, "before any handler was done")
	return counted || strings.Contains(text, want)
}

// A message of the poisoned key that the broker settles early is missed where the window leaves that key.
func TestEarlyOfThePoisonedKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ill = messages / matrix.Keys
		k := kind{spec: poisonedSpec, at: ill / 2, keys: func(key string) bool { return !isWell(key) }}
		r := k.run(t, early, messages)
		if r.Run != nil || r.None == nil || r.None.Code != document.Failed ||
			!strings.Contains(r.None.Text, fmt.Sprintf("stopped with %d messages left", ill-1)) {
			t.Errorf("got %+v, want a failure that says how many are left", r.None)
		}
	})
}

// The same rows have numbers when nothing is wrong.
func TestNoFaultMakesARow(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const messages = 5_000
				r := k.run(t, none, messages)
				var l document.Ledger
				switch {
				case r.None != nil:
					t.Fatal(r.None.Text)
				case r.Load != nil:
					l = r.Load.Ledger
				default:
					l = r.Run.Ledger
				}
				if l.Handled < messages || l.Handled != l.Published || l.Lost+l.Duplicated+l.Reordered != 0 ||
					l.Ordered != k.spec.Ordered {
					t.Errorf("got %+v", l)
				}
			})
		})
	}
}

// A run whose messages were all handled is void when the broker has some of them still, and when the consumer failed.
func TestJudgeOfWhatTheLedgerDoesNotSee(t *testing.T) {
	t.Parallel()
	o := Order{Backend: "mem", Spec: spec(document.Drain, matrix.Parallel, 1), Messages: 10}
	s, err := newStage(o, openBackend)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close(context.WithoutCancel(t.Context())) })
	l := document.Ledger{Published: 10, Handled: 10}
	b := views(o.Spec.Payload)
	if p, err := wherry.NewPublisher(t.Context(), s.relay, topicOf(s, &b, b.codec)); err != nil {
		t.Fatal(err)
	} else if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if none := s.judge(t.Context(), l, s.place(), nil); none != nil {
		t.Errorf("nothing is wrong: %+v", none)
	}
	none := s.judge(t.Context(), l, s.place(), errors.New("out of sorts"))
	if none == nil || !strings.Contains(none.Text, "the consumer failed: out of sorts") {
		t.Errorf("the consumer failed: %+v", none)
	}
	if err := fill(t.Context(), s, &b, 0, 2); err != nil {
		t.Fatal(err)
	}
	none = s.judge(t.Context(), l, s.place(), nil)
	if none == nil || !strings.Contains(none.Text, "2 are left at the broker although all were handled") {
		t.Errorf("two are left: %+v", none)
	}
}
