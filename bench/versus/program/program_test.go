package program_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/versus/program"
)

func options() *program.Options {
	return &program.Options{
		Subject: "shove", Method: document.Drain, Flow: "batch", Payload: 1024, Consumers: 4, Messages: 100, Codec: "json",
		Procs: 2,
	}
}

// TestArgs reads back what Args wrote.
func TestArgs(t *testing.T) {
	t.Parallel()
	o := options()
	for _, o.Workers = range []int{0, 4} {
		got, err := program.Parse(o.Args(), io.Discard)
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%v: %+v, %v; want %+v", o.Args(), got, err, o)
		}
	}
	if o.Workers = 0; strings.Contains(strings.Join(o.Args(), " "), "workers") {
		t.Errorf("%v: a program that knows no workers must not be asked for none", o.Args())
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if _, err := program.Parse([]string{"-help"}, &text); !errors.Is(err, flag.ErrHelp) || !strings.Contains(text.String(), "-rate") {
		t.Errorf("%v, %q", err, text.String())
	}
}

const (
	run  = `"run":{"messages":96,"elapsed_ns":5,"cpu_ns":4,"peak_rss_bytes":3,"ledger":{"published":100,"handled":%d,"duplicated":%d}}`
	load = `"load":{"scheduled_ns":1,"published":100,"publish_ns":1,"peak_lag":0,"cpu_ns":1,"peak_rss_bytes":1,` +
		`"ledger":{"published":100,"handled":100},"latency":{},"from_send":{},"pacer_late":{}}`
	none = `"none":{"code":"unsupported","text":"no ears"}`
)

func ran(handled, duplicated int) string { return fmt.Sprintf(run, handled, duplicated) }

func TestRead(t *testing.T) {
	t.Parallel()
	a, err := program.Read(strings.NewReader("{"+ran(99, 1)+`,"settings":["a=1"]}`+"\n"), options())
	if err != nil {
		t.Fatal(err)
	}
	if a.Run.Messages != 96 || a.Run.Ledger.Handled != 99 || a.Run.Ledger.Duplicated != 1 || a.Settings[0] != "a=1" {
		t.Errorf("answer %+v", a)
	}
	many := options()
	many.Window = 7
	several := strings.Replace("{"+ran(300, 0)+"}", `"messages":96`, `"windows":2,"messages":192`, 1)
	several = strings.Replace(several, `"published":100`, `"published":300`, 1)
	if a, err = program.Read(strings.NewReader(several), many); err != nil || a.Run.Windows != 2 || a.Run.Ledger.Handled != 300 {
		t.Errorf("answer %+v, %v", a, err)
	}
	for answer, want := range map[string]string{
		"{" + ran(100, 0) + "}": "windows=0",
		strings.Replace(several, `"published":300`, `"published":350`, 1): "of 350 messages",
	} {
		if _, err := program.Read(strings.NewReader(answer), many); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", answer, err, want)
		}
	}
	if a, err = program.Read(strings.NewReader("{"+none+`,"settings":[]}`), options()); err != nil || a.None.Text != "no ears" {
		t.Errorf("answer %+v, %v", a, err)
	}
	offered := options()
	offered.Method = document.Offered
	if a, err = program.Read(strings.NewReader("{"+load+"}"), offered); err != nil || a.Load == nil {
		t.Errorf("answer %+v, %v", a, err)
	}
}

// TestReadRefuses reads answers that are none.
func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, want string }{
		{"", "no answer"},
		{"hello", "its answer"},
		{"{" + ran(100, 0) + "} {}", "more than one"},
		{"{" + ran(100, 0) + `,"speed":1}`, `"speed"`},
		{`{"settings":[]}`, "0 of run, load and none"},
		{"{" + ran(100, 0) + "," + none + "}", "2 of run, load and none"},
		{`{"none":{"code":"failed"}}`, "without a code or a text"},
		{"{" + load + "}", "method drain"},
		{strings.Replace("{"+ran(100, 0)+"}", `"elapsed_ns":5`, `"elapsed_ns":0`, 1), "elapsed_ns=0"},
		{strings.Replace("{"+ran(100, 0)+"}", `"cpu_ns":4,`, "", 1), "cpu_ns=0"},
		{strings.Replace("{"+ran(100, 0)+"}", `"published":100`, `"published":90`, 1), "of 90 messages"},
		{"{" + ran(101, 0) + "}", "no run can have"},
		{"{" + ran(100, -1) + "}", "no run can have"},
	} {
		if _, err := program.Read(strings.NewReader(c.answer), options()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.answer, err, c.want)
		}
	}
	offered := options()
	offered.Method = document.Offered
	blind := strings.Replace("{"+load+"}", `"from_send":{},`, "", 1)
	if _, err := program.Read(strings.NewReader(blind), offered); err == nil || !strings.Contains(err.Error(), "latencies") {
		t.Errorf("%v, want one about latencies", err)
	}
}
