package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/ledger"
	"github.com/wherryhq/wherry/bench/versus/program"
)

// call runs the program in this process.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, wrong bytes.Buffer
	status = run(t.Context(), args, &out, &wrong)
	return status, out.String(), wrong.String()
}

// answer runs one cell and reads the answer as the benchmark does.
func answer(t *testing.T, o *program.Options) *program.Answer {
	t.Helper()
	status, stdout, stderr := call(t, o.Args()...)
	if status != 0 {
		t.Fatalf("%v: status %d: %s", o.Args(), status, stderr)
	}
	a, err := program.Read(strings.NewReader(stdout), o)
	if err != nil {
		t.Fatalf("%v: %v\n%s", o.Args(), err, stdout)
	}
	return a
}

func options(subject string, method document.Method) *program.Options {
	return &program.Options{
		Subject: subject, Method: method, Flow: "parallel", Payload: 64, Consumers: 1, Messages: 5_000, Codec: "bytesview",
		Procs: 2,
	}
}

// kept fails unless every message of a run was handled once.
func kept(t *testing.T, a *program.Answer, o *program.Options) {
	t.Helper()
	if a.Run == nil {
		t.Fatalf("%v: no run: %+v", o.Args(), a.None)
	}
	want := document.Ledger{Published: int64(o.Messages), Handled: int64(o.Messages), Ordered: a.Run.Ledger.Ordered}
	if a.Run.Ledger != want {
		t.Errorf("%v: ledger %+v, want %+v", o.Args(), a.Run.Ledger, want)
	}
	if len(a.Settings) == 0 {
		t.Errorf("%v: no settings", o.Args())
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	for _, subject := range names() {
		for _, n := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s %d", subject, n), func(t *testing.T) {
				t.Parallel()
				o := options(subject, document.Live)
				o.Consumers = n
				kept(t, answer(t, o), o)
			})
		}
	}
}

func TestWorkers(t *testing.T) {
	t.Parallel()
	o := options("wherry", document.Live)
	o.Consumers, o.Workers = 4, 4
	a := answer(t, o)
	kept(t, a, o)
	if got := strings.Join(a.Settings, " "); !strings.Contains(got, "workers=4 concurrency=1") {
		t.Errorf("settings %q", got)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flow, codec        string
		payload, consumers int
	}{
		{"parallel", "json", 64, 4},
		{"parallel", "fastjson", 1024, 2},
		{"parallel", "bytesview", 64, 1},
		{"batch", "fastjson", 64, 2},
		{"service", "json", 128, 1},
		{"service", "fastjson", 128, 1},
	} {
		t.Run(c.flow+" "+c.codec, func(t *testing.T) {
			t.Parallel()
			o := options("wherry", document.Drain)
			o.Flow, o.Codec, o.Payload, o.Consumers = c.flow, c.codec, c.payload, c.consumers
			a := answer(t, o)
			kept(t, a, o)
			want := int64(o.Messages - o.Consumers)
			if o.Flow == "batch" {
				want -= int64(o.Consumers * batchSize) // A batch of each may wait for its age at the end.
			}
			if a.Run.Messages != want {
				t.Errorf("%d messages in the window, want %d", a.Run.Messages, want)
			}
		})
	}
}

// TestSequence publishes and handles by key, eight keys at once.
func TestSequence(t *testing.T) {
	t.Parallel()
	for _, codec := range []string{"json", "fastjson"} {
		t.Run(codec, func(t *testing.T) {
			t.Parallel()
			o := options("wherry", document.Live)
			o.Flow, o.Codec, o.Consumers = flowSequence, codec, 8
			a := answer(t, o)
			kept(t, a, o)
			if !a.Run.Ledger.Ordered {
				t.Error("the order of keys is not judged")
			}
			if got := strings.Join(a.Settings, " "); !strings.Contains(got, "concurrency=8 keys=1000 on_failure=skip") {
				t.Errorf("settings %q", got)
			}
		})
	}
}

// TestSequenceIsJudged hands a message over after a later one of its key, on another lane.
func TestSequenceIsJudged(t *testing.T) {
	t.Parallel()
	o := options("wherry", document.Live)
	o.Flow, o.Messages = flowSequence, 2*sequenceKeys
	b := &bed{Options: o, ledger: ledger.New(o.Messages), keys: ledger.NewKeys(sequenceKeys)}
	one, other := b.lane(), b.lane()
	for id := range uint32(sequenceKeys) {
		b.keys.Note(sequenceKeys + id)
		one.Note(sequenceKeys + id)
		if id > 0 {
			continue
		}
		b.keys.Note(id)
		other.Note(id)
	}
	if l := b.judged(new(subject)); l.Reordered != 1 || !l.Ordered {
		t.Errorf("ledger %+v, want one out of order", l)
	}
}

// TestWindows wants a run of several windows: each has the whole corpus, and all but the first count.
func TestWindows(t *testing.T) {
	t.Parallel()
	o := options("wherry", document.Drain)
	o.Consumers, o.Messages, o.Window = 2, 1_000, 250 // A window takes a small part of that, however busy the machine is.
	r := answer(t, o).Run
	if r == nil || r.Windows < 2 || r.ElapsedNS < int64(250*time.Millisecond) {
		t.Fatalf("the run is %+v", r)
	}
	corpus := int64(o.Messages)
	if all := int64(r.Windows+1) * corpus; r.Ledger.Published != all || r.Ledger.Handled != all {
		t.Errorf("of %d messages in %d windows and the first, the ledger is %+v", all, r.Windows, r.Ledger)
	}
	if want := int64(r.Windows) * (corpus - 2); r.Messages != want {
		t.Errorf("%d messages are timed, want %d", r.Messages, want)
	}
}

// TestWindowsAreJudged loses a message in the first window, which is not timed.
func TestWindowsAreJudged(t *testing.T) {
	t.Parallel()
	lost := int64(1)
	once := func() (*program.Answer, error) {
		r := &document.Run{Messages: 9, ElapsedNS: 600_000, CPUNS: 1, Ledger: document.Ledger{Published: 10, Handled: 10 - lost}}
		lost = 0
		return &program.Answer{Run: r}, nil
	}
	a, err := windows(&program.Options{Window: 1}, once)
	if err != nil {
		t.Fatal(err)
	}
	want := document.Run{
		Windows: 2, Messages: 18, ElapsedNS: 1_200_000, CPUNS: 2, Ledger: document.Ledger{Published: 30, Handled: 29},
	}
	if *a.Run != want {
		t.Errorf("the run is %+v, want %+v", *a.Run, want)
	}
	none := func() (*program.Answer, error) { return program.Unsupported("no ears"), nil }
	if a, err = windows(&program.Options{Window: 1}, none); err != nil || a.None == nil {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestDrainGoCloud(t *testing.T) {
	t.Parallel()
	o := options("gocloud", document.Drain)
	o.Codec, o.Messages, o.Consumers = "json", 2_000, 2
	kept(t, answer(t, o), o)
}

func TestOffered(t *testing.T) {
	t.Parallel()
	o := options("wherry", document.Offered)
	o.Codec, o.Messages, o.Rate = "json", 200, 2_000
	a := answer(t, o)
	if a.Load == nil || a.Load.Ledger.Handled != 200 {
		t.Fatalf("answer %+v", a)
	}
	if got, want := a.Load.ScheduledNS, int64(99_500_000); got != want {
		t.Errorf("scheduled %d ns, want %d", got, want)
	}
	if a.Load.Latency.Max < a.Load.FromSend.P50 {
		t.Errorf("latency %+v is less than that from the send, %+v", a.Load.Latency, a.Load.FromSend)
	}
}

// TestUnsupported wants a reason for what a subject cannot do, and no failure.
func TestUnsupported(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    program.Options
		text string
	}{
		{program.Options{Subject: "watermill", Method: document.Drain}, "keeps none for one that comes later"},
		{program.Options{Subject: "watermill-router", Method: document.Drain}, "keeps none for one that comes later"},
		{program.Options{Subject: "gocloud", Method: document.Drain}, "with JSON bodies"},
		{program.Options{Subject: "benthos", Method: document.Drain}, "no corpus"},
		{program.Options{Subject: "go-channel", Method: document.Drain}, "channel"},
		{program.Options{Subject: "go-channel", Method: document.Live, Payload: 100}, "room for 64 bytes"},
		{program.Options{Subject: "benthos", Method: document.Offered, Rate: 10}, "live cells"},
		{program.Options{Subject: "wherry", Method: document.Live, Codec: "xml"}, "codec xml"},
		{program.Options{Subject: "wherry", Method: document.Live, Flow: "sideways"}, "flow sideways"},
		{program.Options{Subject: "wherry", Method: document.Live, Flow: flowSequence}, "with values"},
		{program.Options{Subject: "wherry", Method: document.Drain, Flow: flowSequence, Codec: "json"}, "at once"},
	} {
		o := c.o
		o.Messages, o.Procs, o.Consumers = 10, 2, 1
		o.Payload, o.Flow = max(o.Payload, 64), or(o.Flow, "parallel")
		o.Codec = or(o.Codec, "bytesview")
		a := answer(t, &o)
		if a.None == nil || a.None.Code != document.Unsupported || !strings.Contains(a.None.Text, c.text) {
			t.Errorf("%v: %+v, want unsupported: %s", o.Args(), a.None, c.text)
		}
	}
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func TestWrongFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arg, text string }{
		{"-subject=nobody", "one of benthos, go-channel"},
		{"-messages=0", "-messages=0"},
		{"-method=fast", "-method=fast"},
		{"-method=offered", "-rate"},
		{"-size=1", "-size"},
		{"more", `"more"`},
	} {
		args := []string{"-subject=wherry", "-messages=1", c.arg}
		status, stdout, stderr := call(t, args...)
		if status != 2 || stdout != "" || !strings.Contains(stderr, c.text) {
			t.Errorf("%v: status %d, %q, %q; want 2 and %q", args, status, stdout, stderr, c.text)
		}
	}
	status, stdout, _ := call(t, "-help")
	if status != 0 || !strings.Contains(stdout, "subjects: benthos") || !strings.Contains(stdout, "-consumers") {
		t.Errorf("help: status %d, %q", status, stdout)
	}
}

// TestInterrupted ends a run whose subject waits for messages that do not come.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	b := &bed{Options: options("wherry", document.Live), ledger: ledger.New(5_000)}
	s := &subject{
		start: func(context.Context) error { return nil },
		feed:  func(context.Context) error { cancel(); return nil },
		stop:  func() error { return nil },
	}
	if _, err := b.live(ctx, s); err == nil || ctx.Err() == nil {
		t.Errorf("error %v, want that of the context", err)
	}
}

// TestLoss is a subject that loses one message, repeats another and hands over a third out of turn.
func TestLoss(t *testing.T) {
	t.Parallel()
	o := options("wherry", document.Live)
	b := &bed{Options: o, ledger: ledger.New(o.Messages)}
	s := &subject{
		start: func(context.Context) error { return nil },
		stop:  func() error { return nil },
		feed: func(context.Context) error {
			lane := b.lane()
			for id := range uint32(o.Messages) {
				switch id {
				case 7: // It is lost.
				case 9:
					lane.Note(9)
					lane.Note(9)
				case 11, 12:
					lane.Note(23 - id)
				default:
					lane.Note(id)
				}
			}
			return nil
		},
	}
	a, err := b.live(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	l := a.Run.Ledger
	if l.Lost != 1 || l.Duplicated != 1 || l.Reordered != 1 {
		t.Errorf("ledger %+v, want one lost, one repeated, one out of order", l)
	}
}
