// Package program is how the programs that run a subject are called, and how they answer. A program runs one cell once: it
// reads flags, and prints one JSON object. The programs of other languages do the same without this package.
package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
)

// Options are one cell and the size of its run.
type Options struct {
	Subject   string
	Method    document.Method // Live, Drain or Offered
	Flow      string
	Payload   int // bytes of the payload, or of the whole body
	Consumers int // handlers at once
	Workers   int // receivers, 0 where they are not a lever
	Messages  int
	Codec     string
	// Window is how many milliseconds the windows of a drain are to take together. Messages is the corpus of each, and the
	// first warms the process up: it is judged and not timed. 0 is one window, however long it is.
	Window int
	Rate   int // messages per second of an offered load
	Procs  int
}

// Args are the flags that say what o says. What is zero is left out, so that a program need not know every flag.
func (o *Options) Args() []string {
	args := []string{"-subject=" + o.Subject, "-method=" + string(o.Method), "-flow=" + o.Flow, "-codec=" + o.Codec}
	for _, n := range o.numbers() {
		if *n.value != 0 {
			args = append(args, fmt.Sprintf("-%s=%d", n.name, *n.value))
		}
	}
	return args
}

type number struct {
	name  string
	usage string
	value *int
	least int
}

func (o *Options) numbers() []number {
	return []number{
		{"payload", "bytes of payload, or of the whole body with a byte codec", &o.Payload, 1},
		{"consumers", "handlers at once", &o.Consumers, 1},
		{"workers", "receivers, where they are a lever", &o.Workers, 0},
		{"messages", "messages of the run", &o.Messages, 1},
		{"window", "milliseconds that the windows of a drain take together", &o.Window, 0},
		{"rate", "messages per second of an offered load", &o.Rate, 0},
		{"procs", "processors to use", &o.Procs, 1},
	}
}

// Parse reads flags. What is wrong is an error that names the flag; help goes to w and is [flag.ErrHelp].
func Parse(args []string, w io.Writer) (*Options, error) {
	var text strings.Builder
	o := &Options{}
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(&text)
	method := ""
	flags.StringVar(&o.Subject, "subject", "", "what is run")
	flags.StringVar(&method, "method", string(document.Live), "live, drain or offered")
	flags.StringVar(&o.Flow, "flow", "parallel", "what the subject does")
	flags.StringVar(&o.Codec, "codec", "bytesview", "how bodies are read")
	o.Payload, o.Consumers, o.Procs = 64, 1, 2
	for _, n := range o.numbers() {
		flags.IntVar(n.value, n.name, *n.value, n.usage)
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(w, text.String())
		}
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q: an argument without a flag", flags.Arg(0))
	}
	o.Method = document.Method(method)
	if err := o.validate(); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *Options) validate() error {
	for _, n := range o.numbers() {
		if *n.value < n.least {
			return fmt.Errorf("-%s=%d: must be at least %d", n.name, *n.value, n.least)
		}
	}
	switch o.Method {
	case document.Live, document.Drain:
		return nil
	case document.Offered:
		if o.Rate == 0 {
			return errors.New("-rate: an offered load needs one")
		}
		return nil
	default:
		return fmt.Errorf("-method=%s: one of live, drain, offered", o.Method)
	}
}
