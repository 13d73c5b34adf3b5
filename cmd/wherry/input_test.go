package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

const someOrders = `{"id":"A-1","country":"NO","item":"oar","quantity":2,"cents":9800}

{"id":"A-2","country":"GB","item":"rope","quantity":1,"cents":1250}
this is no order
{"id":"A-3","country":"NL","item":"teapot","quantity":1,"cents":1250}
  	` + `
{"id":"A-4","country":"NL","item":"sail","quantity":"two"}
{"id":"A-5","country":"FO","item":"sail","quantity":1,"cents":42000}`

// wantSomeOrders checks what comes of someOrders.
func wantSomeOrders(t *testing.T, r *result, name string) {
	t.Helper()
	r.want(t, 0, []string{
		" from " + name + ".\n",
		" line 4    undecodable      3  invalid character 'h'",
		` line 5    rejected         1  no "teapot" in the warehouse (stock)`,
		" line 7    undecodable      3  json: cannot unmarshal string",
		"(payment, report, stock)\n",
		"\n" + name + ": 8 lines, 2 of them empty\n",
	}, nil)
	a := r.accounts(t)
	if a.published != 6 || a.handled != 3 || a.dead != 3 || a.lost != 0 || a.duplicated != 0 {
		t.Errorf("got %+v, want 6 published, 3 handled, 3 dead", a)
	}
}

func TestInputFile(t *testing.T) {
	t.Parallel()
	name := write(t, someOrders)
	r := inBubble(t, nil, "demo", "--input", name)
	wantSomeOrders(t, &r, name)
}

func TestInputStandard(t *testing.T) {
	t.Parallel()
	r := inBubble(t, strings.NewReader(someOrders), "demo", "--input", "-")
	wantSomeOrders(t, &r, "standard input")
}

// TestInputByBytes brings the input as slowly as it can come.
func TestInputByBytes(t *testing.T) {
	t.Parallel()
	r := inBubble(t, iotest.OneByteReader(strings.NewReader(someOrders)), "demo", "--input", "-", "--rate", "2")
	wantSomeOrders(t, &r, "standard input")
}

func TestInputFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]struct{ status, lost, duplicated int }{
		"drop":      {1, 1, 0},
		"duplicate": {0, 0, 1},
		"stall":     {0, 0, 0},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			r := inBubble(t, strings.NewReader(someOrders), "demo", "--input", "-", "--fault", fault)
			a := r.accounts(t)
			if r.status != want.status || a.published != 6 || a.lost != want.lost || a.duplicated != want.duplicated {
				t.Errorf("status %d and %+v, want %+v", r.status, a, want)
			}
			if stalled := strings.Contains(r.out, "payment is ready again after"); stalled != (fault == "stall") {
				t.Errorf("recovered: %v\n%s", stalled, r.out)
			}
		})
	}
}

// TestInputLong has many more bad lines than the demo tells apart.
func TestInputLong(t *testing.T) {
	t.Parallel()
	r := inBubble(t, strings.NewReader(strings.Repeat("bad\n", 1000)), "demo", "--input", "-")
	r.want(t, 0, []string{" line 1    undecodable      3  ", " and 2,400 others\n"}, nil)
	if a := r.accounts(t); a.published != 1000 || a.dead != 1000 {
		t.Errorf("got %+v, want 1000 published and dead", a)
	}
}

// TestInputLargest has a line of the most bytes that a line may have.
func TestInputLargest(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	line := `{"id":"A-1","item":"oar","quantity":1,"country":"` + strings.Repeat("x", most-len(`{"id":"A-1","item":"oar","quantity":1,"country":""}`)) + `"}`
	r := inBubble(t, strings.NewReader(line+"\n"), "demo", "--input", "-")
	r.want(t, 0, nil, nil)
	if a := r.accounts(t); a.published != 1 || a.handled != 1 {
		t.Errorf("got %+v, want 1 published and handled", a)
	}
	r = inBubble(t, strings.NewReader(line[:10]+"\n"+line+" \n"), "demo", "--input", "-")
	r.want(t, 2, nil, []string{"standard input: line 2 is longer than 1048576 bytes; give each order a line of its own"})
	if a := r.accounts(t); a.published != 1 || a.dead != 1 {
		t.Errorf("got %+v, want what came before to be accounted for", a)
	}
}

func TestInputRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		in   io.Reader
		errs []string
	}{
		"missing":   {[]string{"nowhere.jsonl"}, nil, []string{"there is no file nowhere.jsonl", "one JSON order on each line"}},
		"directory": {[]string{t.TempDir()}, nil, []string{"is a directory", "one JSON order on each line"}},
		"empty":     {[]string{write(t, "")}, nil, []string{"it is empty", `{"id":"A-1"`}},
		"binary":    {[]string{write(t, "\x7fELF\x02\x01\x00\x00")}, nil, []string{"it is binary data", `{"id":"A-1"`}},
		"empty pipe": {
			[]string{"-"}, strings.NewReader(""), []string{"standard input: it is empty"},
		},
		"broken pipe": {
			[]string{"-"}, iotest.ErrReader(errors.New("the pipe broke")), []string{"standard input: the pipe broke"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := inBubble(t, test.in, append([]string{"demo", "--input"}, test.args...)...)
			r.want(t, 2, nil, test.errs)
			if r.out != "" {
				t.Errorf("there is output: %s", r.out)
			}
		})
	}
}

// TestInputBreaks has an input that cannot be read on. What came before is accounted for.
func TestInputBreaks(t *testing.T) {
	t.Parallel()
	in := io.MultiReader(strings.NewReader(someOrders+"\n"), iotest.ErrReader(errors.New("the pipe broke")))
	r := inBubble(t, in, "demo", "--input", "-")
	r.want(t, 2, nil, []string{"standard input: line 9: the pipe broke"})
	if a := r.accounts(t); a.published != 6 || a.lost != 0 {
		t.Errorf("got %+v, want 6 published and none lost", a)
	}
}

// write makes a file for the test.
func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "orders.jsonl")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
