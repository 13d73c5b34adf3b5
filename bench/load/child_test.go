package load

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// TestMain makes the test's program one that measures orders, as the command's is.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "bench" && os.Args[2] == "cell" {
		os.Exit(Child(os.Args[3:], os.Stdout))
	}
	m.Run()
}

// child runs Child in this process.
func child(t *testing.T, args ...string) (Report, int) {
	t.Helper()
	var out bytes.Buffer
	status := Child(args, &out)
	var r Report
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || d.More() {
		t.Fatalf("%q is not one report: %v", out.String(), err)
	}
	return r, status
}

func inJSON(t *testing.T, o Order) string {
	t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Every kind of subject, method, flow and handler is measured as the process of a cell does it, in real time.
func TestChild(t *testing.T) {
	t.Parallel()
	specs := []matrix.Spec{
		{Cell: document.Cell{Subject: matrix.Channel}, Method: document.Live, Bound: 10},
		{Cell: document.Cell{Subject: matrix.BareChannel}, Method: document.Live, Bound: 10},
		{Cell: document.Cell{Subject: matrix.Harness, Flow: matrix.Notes}, Method: document.Live},
		{Cell: document.Cell{Subject: matrix.Harness, Flow: matrix.Notes, Variant: matrix.WithTimes}, Method: document.Live},
	}
	for _, flow := range []string{
		matrix.Publish, matrix.PublishBatch, matrix.Parallel, matrix.Batch, matrix.Group, matrix.DeadLetter,
	} {
		s := spec(document.Drain, flow, 2)
		s.Codec = matrix.JSON
		if flow == matrix.Batch {
			s.BatchSize, s.BatchAge = 2, time.Millisecond
		}
		specs = append(specs, s)
	}
	for _, handler := range []string{matrix.Wait, matrix.Slow, matrix.Compute, matrix.Limited, matrix.Sleep} {
		s := spec(document.Drain, matrix.Parallel, 2)
		s.Handler = handler
		specs = append(specs, s)
	}
	for _, s := range specs {
		s.Payload, s.Procs, s.Ordered = 64, 2, false
		s.Consumers = max(2, s.Consumers)
		t.Run(s.Name(), func(t *testing.T) {
			t.Parallel()
			const messages = 12
			r, status := child(t, inJSON(t, Order{Backend: "mem", Spec: s, Messages: messages, Round: 4}))
			if status != 0 || r.Run == nil {
				t.Fatalf("status %d, %+v", status, r.None)
			}
			got, fewest := r.Run, int64(messages-4)
			if s.Flow == matrix.Batch {
				fewest -= 4 // as many as at the beginning are not timed at the end
			}
			if got.Round != 4 || got.Messages < fewest || got.Messages > messages || got.ElapsedNS < 1 || got.CPUNS < 0 ||
				got.PeakRSS < 1<<20 && runtime.GOOS == "linux" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// A corpus that is rounded up to whole batches, above the most bytes that it may have, has room in the queue.
func TestCorpusFits(t *testing.T) {
	t.Parallel()
	s := spec(document.Drain, matrix.Batch, 2)
	s.Codec, s.Payload, s.Ordered, s.BatchSize, s.BatchAge = matrix.JSON, 64<<10, false, 300, time.Millisecond
	const messages = 1500 // 98 MB, and a queue has 64 MiB if nobody says otherwise
	s.MaxBodies = messages*int64(s.Payload) - 1
	r, status := child(t, inJSON(t, Order{Backend: "mem", Spec: s, Messages: messages}))
	if status != 0 || r.Run == nil || r.Run.Ledger.Handled != messages {
		t.Errorf("status %d, %+v, %+v", status, r.None, r.Run)
	}
}

// A run of several windows has the whole corpus in each, and all but the first count.
func TestChildOfWindows(t *testing.T) {
	t.Parallel()
	const messages = 2_000
	for _, flow := range []string{matrix.Parallel, matrix.Batch, matrix.Group, matrix.DeadLetter, matrix.Publish} {
		t.Run(flow, func(t *testing.T) {
			t.Parallel()
			s := spec(document.Drain, flow, 2)
			s.Codec, s.Payload, s.Ordered = matrix.JSON, 64, false
			if flow == matrix.Batch {
				s.BatchSize, s.BatchAge = 10, time.Millisecond
			}
			r, status := child(t, inJSON(t, Order{Backend: "mem", Spec: s, Messages: messages, Least: 5 * time.Millisecond}))
			if status != 0 || r.Run == nil {
				t.Fatalf("status %d, %+v", status, r.None)
			}
			got := r.Run
			if got.Windows < 1 || got.ElapsedNS < int64(5*time.Millisecond) {
				t.Errorf("got %+v", got)
			}
			if all := int64(got.Windows+1) * messages; got.Ledger.Published != all || got.Ledger.Handled != all {
				t.Errorf("of %d messages in %d windows and the first, the ledger is %+v", all, got.Windows, got.Ledger)
			}
		})
	}
}

func TestChildOffered(t *testing.T) {
	t.Parallel()
	s := spec(document.Offered, matrix.Parallel, 1)
	s.Codec, s.Rate, s.Length = matrix.JSON, 2000, 50*time.Millisecond
	r, status := child(t, inJSON(t, Order{Backend: "mem", Spec: s}))
	if status != 0 || r.Load == nil {
		t.Fatalf("status %d, %+v", status, r.None)
	}
	if l := r.Load; l.Published != 100 || l.ScheduledNS != int64(49500*time.Microsecond) || l.PublishNS < l.ScheduledNS ||
		l.Latency.P50 < l.FromSend.P50 || l.FromSend.P50 < 1 {
		t.Errorf("got %+v", l)
	}
}

func TestChildRefuses(t *testing.T) {
	t.Parallel()
	good := inJSON(t, Order{Backend: "mem", Spec: spec(document.Drain, matrix.Parallel, 1), Messages: 10})
	for _, c := range []struct {
		name string
		args []string
		text string
	}{
		{"no messages", []string{strings.Replace(good, `"messages":10`, `"messages":0`, 1)}, "the order has no messages"},
		{"no JSON", []string{"{"}, "the order is not understood"},
		{"no argument", nil, "one argument, the order as JSON, and there are 0"},
		{"no backend", []string{strings.Replace(good, `"mem"`, `"men"`, 1)}, `there is no backend "men"`},
		{"no handler", []string{strings.Replace(good, `"zero"`, `"none"`, 1)}, `there is no handler "none"`},
		{"no codec", []string{strings.Replace(good, `"bytesview"`, `"xml"`, 1)}, "the codec xml is not part of this program"},
		{"few messages", []string{strings.Replace(good, `"messages":10`, `"messages":2`, 1)}, "half of the corpus was gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if r, _ := child(t, c.args...); r.None == nil || !strings.Contains(r.None.Text, c.text) {
				t.Errorf("got %+v, want %q", r.None, c.text)
			}
		})
	}
}

// Each order is measured by a process of its own.
func TestProgram(t *testing.T) {
	t.Parallel()
	o := Order{Backend: "mem", Spec: spec(document.Live, matrix.Parallel, 2), Messages: 500}
	o.Spec.Procs = 1
	if r := (Program{}).Measure(t.Context(), o); r.Run == nil || r.Run.Messages != 500 || r.Run.Ledger.Handled != 502 {
		t.Errorf("got %+v, %+v", r.Run, r.None)
	}
}

// says is a program that prints a report and then does something else.
func says(report, then string) Program {
	return Program{Path: "/bin/sh", Args: []string{"-c", "echo '" + report + "'; " + then}}
}

func TestProgramThatFails(t *testing.T) {
	t.Parallel()
	o := Order{Spec: spec(document.Live, matrix.Parallel, 2)}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name    string
		ctx     context.Context //nolint:containedctx // It is what differs.
		program Program
		text    string
	}{
		{"absent", t.Context(), Program{Path: "/nowhere/wherry"}, "no such file"},
		{"silent", t.Context(), Program{Path: self, Args: []string{"-test.run=^$", "-test.v=false"}}, "said nothing that is understood"},
		{"broken", t.Context(), says(`{"run": {"messages": 1}}`, "exit 3"), "exit status 3"},
		{"killed", t.Context(), says(`{"run": {"messages": 1}}`, "kill -9 $$"), "signal: killed"},
		{"chatty", t.Context(), says(`{"run": {"messages": 1}}`, "echo and more"), "said nothing that is understood"},
		{"wrong", t.Context(), says(`{"run": {"messages": "many"}}`, "exit 0"), "said nothing that is understood"},
		{"ended", ended, Program{}, "context canceled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := c.program.Measure(c.ctx, o)
			if r.None == nil || r.None.Code != document.Failed || !strings.Contains(r.None.Text, c.text) {
				t.Errorf("got %+v, want %q", r.None, c.text)
			}
		})
	}
}
